"""Find package names that resemble popular ones (typosquatting)."""

from functools import cache, lru_cache

_POPULAR_NAMES = {
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
_POPULAR_SCOPES = (
    "types babel angular vue nestjs aws-sdk google-cloud anthropic anthropic-ai modelcontextprotocol openai-agents"
    " typescript-eslint testing-library storybook reduxjs emotion react-native tanstack prisma sveltejs octokit azure"
    " microsoft mui radix-ui heroicons hookform playwright rollup vitejs supabase vercel sentry apollo graphql-tools"
)
_LOOKALIKES = str.maketrans(
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
_MIN_LENGTH = 5
"""Shorter names resemble each other by chance."""


class _NameIndex:
    """Popular names by first and last letter, one of which a single typo leaves intact, and by appearance."""

    def __init__(self, names: str) -> None:
        self.names = frozenset(names.split())
        self.by_end: dict[str, list[str]] = {}
        for name in sorted(self.names):
            if len(name) >= _MIN_LENGTH:
                self.by_end.setdefault(name[0] + ".", []).append(name)
                self.by_end.setdefault("." + name[-1], []).append(name)
        self.by_appearance = {_fold_lookalikes(name): name for name in self.names}

    def find_similar(self, name: str) -> str:
        """Return the popular name that this one resembles, or an empty string."""
        if name in self.names or len(name) < _MIN_LENGTH - 1:
            return ""
        near = self.by_end.get(name[0] + ".", []) + self.by_end.get("." + name[-1], [])
        typos = (other for other in near if abs(len(other) - len(name)) < 2 and is_one_typo(name, other))
        return next(typos, "") or self.by_appearance.get(_fold_lookalikes(name), "")


@cache
def _get_index(kind: str) -> _NameIndex:
    return _NameIndex(_POPULAR_SCOPES if kind == "scope" else _POPULAR_NAMES.get(kind, ""))


@lru_cache(1024)
def find_similar_name(kind: str, name: str) -> str:
    """Return the popular package name or scope that this name resembles; empty if there is none or it is popular."""
    name = name.lower()
    if kind == "npm" and name.startswith("@"):
        scope = _get_index("scope").find_similar(name[1:].partition("/")[0])
        return f"@{scope}" if scope else ""
    return _get_index(kind).find_similar(name.replace("_", "-") if kind == "pypi" else name)


def _fold_lookalikes(name: str) -> str:
    """Return a name without separators and with look-alike characters replaced."""
    return name.translate(_LOOKALIKES).replace("rn", "m").replace("-", "").replace("_", "").replace(".", "")


def is_one_typo(left: str, right: str) -> bool:
    """Return whether the names differ by one letter: omitted, inserted, changed, or swapped with its neighbour."""
    if left == right:
        return False
    start = next((at for at, (a, b) in enumerate(zip(left, right, strict=False)) if a != b), min(len(left), len(right)))
    a, b = left[start:], right[start:]
    if len(a) == len(b):
        return a[1:] == b[1:] or (a[:2] == b[1::-1] and a[2:] == b[2:])
    return a[1:] == b if len(a) == len(b) + 1 else len(b) == len(a) + 1 and b[1:] == a
