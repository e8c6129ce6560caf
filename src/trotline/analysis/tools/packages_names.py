"""Names that everybody knows, and names that only look like them."""

from functools import cache, lru_cache

_POPULAR = {
    "pypi": "aiohttp airflow alembic ansible anthropic anyio apscheduler arrow asyncpg attrs autopep8 azure-core babel"
    " bandit bcrypt beautifulsoup4 black bleach blinker bokeh boto boto3 botocore cachetools cattrs celery certifi"
    " cffi chardet charset-normalizer click cloudpickle colorama conda coverage cryptography cython dash dask"
    " datasets dateutil decorator diffusers distlib django djangorestframework dnspython docker docutils duckdb"
    " elasticsearch executing fabric fastapi filelock flake8 flask fonttools fsspec gensim gevent gitpython"
    " google-auth gradio graphql-core greenlet grpcio gunicorn h5py httpcore httptools httpx huggingface-hub"
    " hypothesis idna imageio importlib-metadata ipykernel ipython isort itsdangerous jinja2 jmespath joblib"
    " jsonschema jupyter jupyterlab kafka-python keras kubernetes langchain lightgbm litellm llvmlite loguru lxml"
    " mako markdown markupsafe marshmallow matplotlib mistune mkdocs moto msgpack msgspec multidict mypy nbconvert"
    " networkx nltk notebook numba numpy oauthlib openai opencv-python openpyxl orjson packaging pandas paramiko"
    " peewee pendulum pexpect pillow pip pipenv platformdirs plotly pluggy poetry polars pre-commit protobuf"
    " psutil psycopg psycopg2 psycopg2-binary pyarrow pyasn1 pycparser pycryptodome pydantic pygments pyinstaller"
    " pyjwt pylint pymongo pymysql pynacl pyopenssl pyparsing pyserial pytest pytest-asyncio pytest-cov"
    " python-dateutil python-dotenv python-jose python-multipart pytorch-lightning pytz pyyaml pyzmq redis regex"
    " requests requests-oauthlib rich rsa ruff s3transfer scapy scikit-image scikit-learn scipy scrapy seaborn selenium"
    " sentry-sdk setuptools shapely simplejson six sniffio sphinx sqlalchemy sqlglot starlette statsmodels"
    " streamlit structlog sympy tabulate tenacity tensorboard tensorflow textual tokenizers toml tomli torch"
    " torchvision tornado tox tqdm traitlets transformers trio twine typer typing-extensions tzdata ujson urllib3"
    " uvicorn uvloop virtualenv watchdog watchfiles wcwidth websocket-client websockets werkzeug wheel wrapt"
    " xgboost xlrd yarl zipp",
    "npm": "acorn ajv angular antd apollo-server archiver async autoprefixer aws-sdk axios babel babel-core"
    " babel-loader bcrypt bcryptjs bluebird body-parser bootstrap browserify chai chalk cheerio chokidar classnames"
    " clsx color colors commander compression concurrently connect cookie-parser core-js cors create-next-app"
    " create-react-app cross-env cross-spawn css-loader cypress d3 date-fns dayjs debug deepmerge discord.js dotenv ejs"
    " electron emotion enzyme esbuild eslint eslint-config-prettier eslint-plugin-import eslint-plugin-prettier"
    " eslint-plugin-react event-stream execa express express-session fastify file-loader firebase formik"
    " framer-motion fs-extra gaxios glob graphql gulp handlebars helmet html-webpack-plugin http-proxy"
    " http-proxy-middleware http-server husky i18next immer immutable inquirer ioredis jest jquery js-yaml jsdom"
    " jsonwebtoken karma knex koa leaflet lerna less lint-staged lodash lodash-es luxon mini-css-extract-plugin"
    " minimatch minimist mkdirp mobx mocha moment mongodb mongoose morgan multer mysql mysql2 nanoid next"
    " next-auth node-fetch node-sass nodemailer nodemon nuxt nyc openai ora passport passport-jwt pino playwright"
    " pm2 postcss postcss-loader preact prettier prisma prop-types puppeteer qs query-string ramda react react-dom"
    " react-hook-form react-icons react-native react-query react-redux react-router react-router-dom react-scripts"
    " react-select redis redux redux-saga redux-thunk reflect-metadata request rimraf rollup rxjs sass sass-loader"
    " semver sequelize serve sharp shelljs sinon socket.io socket.io-client solc source-map stripe style-loader"
    " styled-components supertest svelte swagger-ui-express tailwindcss terser three ts-jest ts-loader ts-node"
    " tslib tslint tsx turbo typeorm typescript uglify-js underscore url-loader uuid validator vite vitest vue"
    " vue-router vuex web3 webpack webpack-cli webpack-dev-server winston ws yargs yarn zod zustand",
}
_SCOPES = (
    "types babel angular vue nestjs aws-sdk google-cloud anthropic anthropic-ai modelcontextprotocol openai-agents"
    " typescript-eslint testing-library storybook reduxjs emotion react-native tanstack prisma sveltejs octokit azure"
    " microsoft mui radix-ui heroicons hookform playwright rollup vitejs supabase vercel sentry apollo graphql-tools"
)
_GLYPHS = str.maketrans(
    {
        "0": "o",
        "1": "l",
        "\u0456": "i",
        "\u0430": "a",
        "\u0435": "e",
        "\u043e": "o",
        "\u0440": "p",
        "\u0441": "c",
        "\u0455": "s",
    }
)
_SHORTEST = 5
"""Of names shorter than this too many are neighbours by chance."""


class _Known:
    """Names by their two ends, one of which no single slip can touch; and by how they look."""

    def __init__(self, names: str) -> None:
        self.names = frozenset(names.split())
        self.ends: dict[str, list[str]] = {}
        for name in sorted(self.names):
            if len(name) >= _SHORTEST:
                self.ends.setdefault(name[0] + ".", []).append(name)
                self.ends.setdefault("." + name[-1], []).append(name)
        self.looks = {_drawn(name): name for name in self.names}

    def like(self, name: str) -> str:
        """The known name that this one is probably mistaken for."""
        if name in self.names or len(name) < _SHORTEST - 1:
            return ""
        near = self.ends.get(name[0] + ".", []) + self.ends.get("." + name[-1], [])
        slips = (other for other in near if abs(len(other) - len(name)) < 2 and one_slip(name, other))
        return next(slips, "") or self.looks.get(_drawn(name), "")


@cache
def _known(kind: str) -> _Known:
    return _Known(_SCOPES if kind == "scope" else _POPULAR.get(kind, ""))


@lru_cache(1024)
def resembles(kind: str, name: str) -> str:
    """The well-known name that this one is probably mistaken for; nothing if it is known itself, or like none."""
    name = name.lower()
    if kind == "npm" and name.startswith("@"):
        scope = _known("scope").like(name[1:].partition("/")[0])
        return f"@{scope}" if scope else ""
    return _known(kind).like(name.replace("_", "-") if kind == "pypi" else name)


def _drawn(name: str) -> str:
    """As the eye takes it: without separators, and look-alikes made the same."""
    return name.translate(_GLYPHS).replace("rn", "m").replace("-", "").replace("_", "").replace(".", "")


def one_slip(left: str, right: str) -> bool:
    """Whether one letter was left out, put in, changed, or swapped with its neighbour."""
    if left == right:
        return False
    begin = next((at for at, (a, b) in enumerate(zip(left, right, strict=False)) if a != b), min(len(left), len(right)))
    a, b = left[begin:], right[begin:]
    if len(a) == len(b):
        return a[1:] == b[1:] or (a[:2] == b[1::-1] and a[2:] == b[2:])
    return a[1:] == b if len(a) == len(b) + 1 else len(b) == len(a) + 1 and b[1:] == a
