"""Languages that the scanner reads: their syntax and the actions of their functions."""

from typing import NamedTuple

from trotline.analysis.code.call_actions import ACTIONS, CallAction, build_actions
from trotline.analysis.code.code_effects import (
    UNKNOWN_VALUE,
    CodeCall,
    CodeEffects,
    CodeValue,
    concatenate,
    make_list,
    make_text,
    mix_values,
)
from trotline.analysis.code.code_tokens import DOLLAR_NAME, LanguageSyntax
from trotline.analysis.code.python_calls import PYTHON_ACTIONS


class CodeLanguage(NamedTuple):
    """A language that the scanner reads. Its table of actions joins all names by dots."""

    syntax: LanguageSyntax
    actions: dict[str, CallAction]
    concat_operators: frozenset[str] = frozenset({"+"})
    member_operators: frozenset[str] = frozenset({"."})
    bare_calls: frozenset[str] = frozenset()  # calls without parentheses
    import_calls: frozenset[str] = frozenset()  # calls that return a module by its name
    environment_names: frozenset[str] = frozenset()
    aliases: tuple[tuple[str, str], ...] = ()  # prefixes of names and their replacements
    calls_without_parens: bool = False
    calls_by_string: bool = False  # `$f(...)`, where `$f` holds the name of a function
    callback_functions: frozenset[str] = frozenset()  # functions that accept a function by its name
    has_imports: bool = False  # has `import ... from "module"`

    def canonicalize(self, name: str) -> str:
        """Return the name in the form that the table of actions uses."""
        for long, short in self.aliases:
            if name.startswith(long):
                name = short + name[len(long) :]
        return name


# Methods of strings and lists


def _return_owner(_effects: CodeEffects, call: CodeCall) -> CodeValue:
    return call.owner or UNKNOWN_VALUE


def _return_text(_effects: CodeEffects, call: CodeCall) -> CodeValue:
    """Return the owner as text: a decoded buffer already is text, and `toString("base64")` only names a format."""
    return (call.owner or UNKNOWN_VALUE)._replace(name="")


def _join_items(effects: CodeEffects, call: CodeCall) -> CodeValue:
    owner = call.owner or UNKNOWN_VALUE
    if owner.items is None:
        return ACTIONS["join_paths"](effects, call)
    return concatenate(list(owner.items), call.get_first().text if call.args else "")


def _split_text(_effects: CodeEffects, call: CodeCall) -> CodeValue:
    owner = call.owner or UNKNOWN_VALUE
    if not owner.is_known:
        return owner
    sign = call.get_first().text if call.args else ""
    return make_list([owner.with_text(part) for part in (owner.text.split(sign) if sign else owner.text)])


def _reverse_owner(_effects: CodeEffects, call: CodeCall) -> CodeValue:
    owner = call.owner or UNKNOWN_VALUE
    if owner.items is not None:
        return owner._replace(items=owner.items[::-1])
    return owner.with_text(owner.text[::-1])


def _replace_text(_effects: CodeEffects, call: CodeCall) -> CodeValue:
    owner = call.owner or UNKNOWN_VALUE
    if len(call.args) > 1 and call.args[0].text not in {"", "/"} and call.args[0].is_known:
        return owner.with_text(owner.text.replace(call.args[0].text, call.args[1].text))
    return owner


def _concatenate_owner(_effects: CodeEffects, call: CodeCall) -> CodeValue:
    return concatenate([call.owner or UNKNOWN_VALUE, *call.args])


def _unpack(effects: CodeEffects, call: CodeCall) -> CodeValue:
    """Decode Ruby's `"...".unpack1("m")` and `["..."].pack("H*")`."""
    owner, how = (call.owner or UNKNOWN_VALUE).flatten()[:1], call.get_first().text
    value = owner[0] if owner else UNKNOWN_VALUE
    action = (
        ACTIONS["decode_base64"]
        if how.startswith("m") and "unpack" in call.name
        else ACTIONS["decode_hex"]
        if how[:1] in "Hh"
        else None
    )
    return action(effects, call._replace(args=(value,))) if action is not None else value


def _write_to_owner(effects: CodeEffects, call: CodeCall) -> CodeValue:
    """Send the text that `request(...).end(text)` writes, or pass it to a process as input."""
    owner = call.owner or UNKNOWN_VALUE
    process_call = owner.owner.body if owner.name == "?.stdin" and owner.owner is not None else None
    if isinstance(process_call, CodeCall) and call.args:
        return ACTIONS["run_list"](
            effects, process_call._replace(kwargs={**process_call.kwargs, "input": call.args[0]})
        )
    url = owner.body
    content = mix_values(list(call.args))
    if owner.name == "<response>" and isinstance(url, CodeValue) and (content.paths or content.origins):
        effects.add_send(url, "write", list(call.args))
    return owner


def _run_constructor(effects: CodeEffects, call: CodeCall) -> CodeValue:
    """Analyze `f.constructor("code")`, which compiles code."""
    return effects.analyze_code(call.args[-1]) if call.args and call.args[-1].is_known else UNKNOWN_VALUE


METHODS: dict[str, CallAction] = {
    **dict.fromkeys(
        "trim strip chomp to_s to_str toString each forEach map select filter first freeze call".split(), _return_owner
    ),
    "body": _return_owner,
    "concat": _concatenate_owner,
    "constructor": _run_constructor,
    "decode": _return_text,
    "end": _write_to_owner,
    "gsub": _replace_text,
    "join": _join_items,
    "pack": _unpack,
    "replace": _replace_text,
    "reverse": _reverse_owner,
    "split": _split_text,
    "sub": _replace_text,
    "text": _return_owner,
    "unpack": _unpack,
    "unpack1": _unpack,
    "write": _write_to_owner,
}


def make_characters(_effects: CodeEffects, call: CodeCall) -> CodeValue:
    """Return the text of character codes."""
    numbers = [value.text for value in call.args if value.text.isascii() and value.text.isdigit()]
    if len(numbers) != len(call.args) or not numbers:
        return UNKNOWN_VALUE
    return make_text("".join(chr(min(int(number[:7]), 0x10FFFF)) for number in numbers))


# Functions of one language


def _perl_open(effects: CodeEffects, call: CodeCall) -> CodeValue:
    """Handle `open(F, ">x")`, `open(F, "<", "x")`, `open(F, "cmd |")` and `open(F, "-|", "cmd")`."""
    if len(call.args) < 2:
        return UNKNOWN_VALUE
    mode, rest = call.args[1].text.strip(), list(call.args[2:])
    if mode in {"|-", "-|"}:
        return ACTIONS["run_words"](effects, call._replace(args=tuple(rest)))
    if not rest and (mode.startswith("|") or mode.endswith("|")):
        return effects.analyze_script(call.args[1].with_text(mode.strip("|")))
    sign = mode.lstrip("+")[:1]
    target = rest[0] if rest else call.args[1].with_text(mode.lstrip("+<> "))
    if sign == ">" or mode.startswith("+"):
        effects.add_write(target, "open")
        return UNKNOWN_VALUE
    return effects.add_read(target, "open")


def _perl_sysopen(effects: CodeEffects, call: CodeCall) -> CodeValue:
    target = call.args[1] if len(call.args) > 1 else UNKNOWN_VALUE
    flags = " ".join(value.name for value in call.args[2:])
    reads = flags == "O_RDONLY"
    return effects.add_read(target, "open") if reads else _write_opened(effects, target)


def _write_opened(effects: CodeEffects, target: CodeValue) -> CodeValue:
    effects.add_write(target, "open")
    return UNKNOWN_VALUE


def _perl_pack(effects: CodeEffects, call: CodeCall) -> CodeValue:
    """Decode `pack("H*", digits)`."""
    how = call.get_first().text
    if how[:1] in {"H", "h"} and len(call.args) > 1:
        return ACTIONS["decode_hex"](effects, call._replace(args=call.args[1:]))
    return make_characters(effects, call._replace(args=call.args[1:])) if how[:1] in {"C", "c", "U"} else UNKNOWN_VALUE


def _join_parts(_effects: CodeEffects, call: CodeCall) -> CodeValue:
    """Join the parts of `join(separator, parts...)` and `implode`."""
    parts = [inner for value in call.args[1:] for inner in value.flatten()]
    return concatenate(parts, call.get_first().text) if parts else UNKNOWN_VALUE


def _set_timer(effects: CodeEffects, call: CodeCall) -> CodeValue:
    """Analyze `setTimeout("code", 1)`. A function argument is analyzed in place."""
    return effects.analyze_code(call.get_first()) if call.get_first().is_known else UNKNOWN_VALUE


def _start_worker(effects: CodeEffects, call: CodeCall) -> CodeValue:
    """Run `new Worker("code", {eval: true})` or a file."""
    return ACTIONS["run_code" if call.is_true("eval") else "load_code"](effects, call)


def _spawn_process(effects: CodeEffects, call: CodeCall) -> CodeValue:
    """Start a process that may get input later."""
    return ACTIONS["run_list"](effects, call)._replace(name="<process>", body=call)


def _ruby_read(effects: CodeEffects, call: CodeCall) -> CodeValue:
    """Read a file, or run a command for `IO.read("|command")`."""
    value = call.get_first()
    return (
        effects.analyze_script(value.with_text(value.text[1:]))
        if value.text.startswith("|")
        else ACTIONS["read"](effects, call)
    )


def _r_vector(_effects: CodeEffects, call: CodeCall) -> CodeValue:
    """Return the items of `c(...)` or `list(...)` in R."""
    return make_list([inner for value in call.args for inner in value.flatten()])


_SLASHES = (("//", "\n"), ("/*", "*/"))

JAVASCRIPT = CodeLanguage(
    LanguageSyntax(
        _SLASHES,
        raw="",
        escaped="'\"",
        interpolated="`",
        interpolation="${",
        name_pattern=DOLLAR_NAME,
        has_regex_literals=True,
        newline_ends_statement=False,
    ),
    build_actions(
        decode_base64="atob",
        change_mode="fs.chmod fs.chmodSync fs.chown fs.chownSync fs.lchown Deno.chmod Deno.chmodSync",
        decode="Buffer.from Buffer",
        connect="net.connect net.createConnection net.Socket.connect tls.connect WebSocket Deno.connect Bun.connect",
        copy="fs.cp fs.cpSync fs.copyFile fs.copyFileSync fs.copySync Deno.copyFile Deno.copyFileSync",
        delete="fs.rm fs.rmSync fs.unlink fs.unlinkSync fs.remove Deno.remove Deno.removeSync fs.removeSync rimraf"
        " rimraf.sync del.sync fs.emptyDir fs.emptyDirSync",
        truncate="fs.truncate fs.truncateSync Deno.truncate",
        run_code="eval Function vm.runInThisContext vm.runInNewContext vm.Script",
        fetch="fetch axios axios.get http.get https.get http.request https.request got request needle.get",
        get_home="os.homedir",
        join_paths="path.join path.resolve",
        kill="process.kill Deno.kill",
        link="fs.link fs.linkSync fs.symlink fs.symlinkSync",
        create="fs.mkdir fs.mkdirSync Deno.mkdir",
        move="fs.rename fs.renameSync fs.moveSync fs.move Deno.rename Deno.renameSync",
        open="fs.open fs.openSync",
        read="fs.readFile fs.readFileSync fs.createReadStream fs.readdir fs.readdirSync Deno.readTextFile"
        " Deno.readFile Deno.readTextFileSync Bun.file",
        rmdir="fs.rmdir fs.rmdirSync",
        return_first="String URL decodeURIComponent unescape",
        print="console.log process.stdout.write console.info",
        send="axios.post axios.put axios.patch got.post request.post navigator.sendBeacon",
        run_script="child_process.exec child_process.execSync Bun.$ $ bun.$ zx.$ execa.$ execa.command execaCommand"
        " shell.exec shelljs.exec",
        run_list="child_process.spawnSync child_process.execFile child_process.execFileSync child_process.fork"
        " Deno.Command Deno.run Bun.spawn Bun.spawnSync execa",
        delete_tree="fsExtra.remove",
        write="fs.writeFile fs.writeFileSync fs.appendFile fs.appendFileSync fs.createWriteStream fs.outputFile"
        " Deno.writeTextFile Deno.writeTextFileSync Deno.writeFile Bun.write",
    )
    | {"String.fromCharCode": make_characters, "String.fromCodePoint": make_characters}
    | {"child_process.spawn": _spawn_process, "worker_threads.Worker": _start_worker}
    | dict.fromkeys(("setTimeout", "setInterval", "setImmediate"), _set_timer)
    | {f"shelljs.{program}": ACTIONS["run_named"] for program in "cat chmod cp ln mkdir mv rm sed touch".split()},
    member_operators=frozenset({".", "?."}),
    import_calls=frozenset({"require", "import", "process.binding", "process.getBuiltinModule"}),
    environment_names=frozenset({"process.env", "Deno.env", "Bun.env"}),
    aliases=(
        ("node:", ""),
        ("globalThis.", ""),
        ("global.", ""),
        ("window.", ""),
        ("process.mainModule.require", "require"),
        ("fs/promises", "fs"),
        ("fs.promises", "fs"),
        ("fs-extra", "fs"),
        ("graceful-fs", "fs"),
        ("fse.", "fs."),
        ("module.require", "require"),
    ),
    has_imports=True,
)

PERL = CodeLanguage(
    LanguageSyntax(
        (("#", "\n"), ("=pod", "\n=cut"), ("=begin", "\n=cut"), ("=head", "\n=cut"), ("__END__", "\0")),
        interpolated='"',
        command_quotes="`",
        interpolation="$",
        sigils="$@%",
        quote_words="qx qq qw qr q tr s m y",
        has_regex_literals=True,
        newline_ends_statement=False,
    ),
    build_actions(
        decode_base64="decode_base64 MIME.Base64.decode_base64 MIME.Base64.decode",
        change_modes="chmod",
        connect="IO.Socket.INET.new IO.Socket.SSL.new IO.Socket.IP.new IO.Socket.INET IO.Socket.SSL IO.Socket.IP"
        " connect sockaddr_in inet_aton",
        copy="copy File.Copy.copy cp",
        delete_all="unlink",
        download="getstore LWP.Simple.getstore mirror",
        truncate="truncate",
        run_code="eval",
        fetch="get LWP.Simple.get LWP.UserAgent.get HTTP.Tiny.get getprint",
        build_glob="glob",
        decode_hex="hex",
        kill="kill",
        link="link symlink",
        load_code="do",
        create="mkdir make_path mkpath",
        move="rename move File.Copy.move mv",
        read="slurp read_file opendir Path.Tiny.slurp",
        reverse_text="reverse",
        rmdir="rmdir",
        print="print say printf",
        send="HTTP.Tiny.post LWP.UserAgent.post",
        run_words="system exec CORE.system CORE.exec CORE.GLOBAL.system POSIX.system IPC.Open3.open3 open2 open3"
        " IPC.Run.run",
        run_script="readpipe capture",
        delete_tree="rmtree remove_tree File.Path.rmtree File.Path.remove_tree",
        connect_stdin="STDIN.fdopen",
        write="write_file",
    )
    | {"open": _perl_open, "pack": _perl_pack, "join": _join_parts, "sysopen": _perl_sysopen},
    concat_operators=frozenset({"."}),
    member_operators=frozenset({"->", "::"}),
    bare_calls=frozenset(
        "system exec unlink print say printf open rmtree remove_tree mkdir rmdir rename eval kill chmod do pack join"
        " decode_base64 glob get getstore copy move sysopen reverse truncate".split()
    ),
    environment_names=frozenset({"$ENV", "%ENV"}),
    calls_by_string=True,
)

RUBY = CodeLanguage(
    LanguageSyntax(
        (("#", "\n"), ("=begin", "\n=end"), ("__END__", "\0")),
        interpolated='"',
        command_quotes="`",
        interpolation="#{",
        sigils="$@",
        quote_words="%x %w %i %q %Q %r %",
        has_regex_literals=True,
    ),
    build_actions(
        decode_base64="Base64.decode64 Base64.strict_decode64 Base64.urlsafe_decode64",
        change_modes="File.chmod FileUtils.chmod FileUtils.chmod_R File.chown",
        connect="TCPSocket.open TCPSocket.new UDPSocket.new Socket.tcp OpenSSL.SSL.SSLSocket.new",
        copy="FileUtils.cp FileUtils.copy FileUtils.cp_r FileUtils.copy_file IO.copy_stream",
        delete_all="File.delete File.unlink FileUtils.rm FileUtils.rm_f FileUtils.safe_unlink",
        download="URI.download",
        truncate="File.truncate",
        run_code="eval instance_eval class_eval module_eval Kernel.eval TOPLEVEL_BINDING.eval",
        expand_tilde="File.expand_path",
        fetch="Net.HTTP.get Net.HTTP.get_response URI.open OpenURI.open_uri HTTParty.get Faraday.get"
        " Net.HTTP.get_print",
        build_glob="Dir.glob Dir",
        get_home="Dir.home",
        decompress="Zlib.Inflate.inflate Zlib.inflate",
        join_paths="File.join",
        kill="Process.kill",
        link="File.symlink File.link FileUtils.ln_s FileUtils.ln",
        load_code="load require_relative",
        create="Dir.mkdir FileUtils.mkdir FileUtils.mkdir_p FileUtils.touch",
        move="File.rename FileUtils.mv FileUtils.move",
        open="File.open open File.new IO.open Kernel.open",
        run_program="IO.popen",
        read="File.read File.readlines File.binread Dir.entries Dir.children File.foreach",
        rmdir="Dir.rmdir Dir.delete Dir.unlink FileUtils.rmdir",
        return_first="URI URI.parse Pathname Pathname.new String Shellwords.escape Array",
        print="puts print p $stdout.puts STDOUT.puts $stdout.write",
        send="Net.HTTP.post Net.HTTP.post_form HTTParty.post Faraday.post",
        run_words="system exec spawn Kernel.system Kernel.exec Kernel.spawn Process.spawn Process.exec Open3.capture2"
        " Open3.capture2e Open3.capture3 Open3.popen2 Open3.popen3 Open3.pipeline PTY.spawn",
        delete_tree="FileUtils.rm_r FileUtils.rm_rf FileUtils.remove_dir FileUtils.rmtree FileUtils.remove_entry"
        " FileUtils.remove_entry_secure ?.rmtree FileUtils.remove_file FileUtils.remove rm_rf rm_r",
        write="File.write IO.write File.binwrite IO.binwrite ?.write_to",
    )
    | build_actions(delete="?.unlink ?.delete", read="?.read")
    | dict.fromkeys("IO.read IO.readlines IO.binread IO.foreach".split(), _ruby_read),
    member_operators=frozenset({".", "::", "&."}),
    bare_calls=frozenset(
        "system exec spawn eval puts print p open load require_relative File.delete File.unlink FileUtils.rm_rf"
        " FileUtils.rm_r FileUtils.rm FileUtils.rm_f File.write File.read IO.popen Dir.glob FileUtils.mv FileUtils.cp"
        " Dir.rmdir File.rename File.open sprintf File.truncate FileUtils.remove_dir Process.spawn Kernel.system"
        " Kernel.exec Kernel.spawn Process.exec rm_rf rm_r IO.read".split()
    ),
    environment_names=frozenset({"ENV"}),
    calls_without_parens=True,
    callback_functions=frozenset("send public_send __send__ method".split()),
)

PHP = CodeLanguage(
    LanguageSyntax(
        (*_SLASHES, ("#", "\n")),
        interpolated='"',
        command_quotes="`",
        interpolation="$",
        sigils="$",
        newline_ends_statement=False,
    ),
    build_actions(
        decode_base64="base64_decode",
        change_mode="chmod chown chgrp",
        connect="fsockopen pfsockopen stream_socket_client socket_connect mysqli_connect",
        copy="copy",
        delete="unlink",
        truncate="ftruncate",
        run_code="eval assert create_function",
        fetch="curl_init curl_setopt http_get",
        build_glob="glob scandir",
        decode_hex="hex2bin",
        decompress="gzinflate gzuncompress gzdecode",
        load_code="include include_once require require_once",
        create="mkdir touch",
        move="rename move_uploaded_file",
        open="fopen",
        run_program="proc_open",
        read="file_get_contents file readfile highlight_file show_source parse_ini_file",
        reverse_text="strrev",
        rmdir="rmdir",
        print="echo print printf var_dump print_r",
        send="mail",
        run_script="system exec shell_exec passthru popen",
        run_list="pcntl_exec",
        get_variable="getenv",
        write="file_put_contents",
        link="symlink link",
        kill="posix_kill",
    )
    | {"implode": _join_parts, "join": _join_parts, "chr": make_characters},
    concat_operators=frozenset({"."}),
    member_operators=frozenset({"->", "::"}),
    bare_calls=frozenset("echo print include include_once require require_once".split()),
    environment_names=frozenset({"$_ENV", "$_SERVER"}),
    calls_by_string=True,
    callback_functions=frozenset(
        "call_user_func call_user_func_array array_map array_walk array_filter array_reduce usort uasort uksort"
        " register_shutdown_function register_tick_function iterator_apply ob_start forward_static_call"
        " forward_static_call_array preg_replace_callback set_error_handler ReflectionFunction".split()
    ),
)

LUA = CodeLanguage(
    LanguageSyntax((("--[[", "]]"), ("--[=[", "]=]"), ("--", "\n")), raw="", escaped="'\"", decimal_escapes=True),
    build_actions(
        connect="socket.connect socket.tcp",
        delete="os.remove lfs.rmdir",
        run_code="load loadstring",
        fetch="http.request",
        load_code="dofile loadfile",
        move="os.rename",
        open="io.open",
        read="io.lines io.input",
        return_first="tostring",
        print="print io.write",
        run_script="os.execute io.popen",
        get_variable="os.getenv",
        write="io.output",
    )
    | {"string.char": make_characters},
    concat_operators=frozenset({".."}),
    member_operators=frozenset({".", ":"}),
    import_calls=frozenset({"require"}),
    aliases=(("_G.", ""),),
)

R = CodeLanguage(
    LanguageSyntax(raw="", escaped="'\""),
    build_actions(
        change_mode="Sys.chmod",
        copy="file.copy",
        delete="unlink file_delete fs.file_delete",
        delete_all="file.remove",
        download="download.file",
        run_code="eval parse",
        fetch="url httr.GET curl.curl",
        join_paths="file.path",
        load_code="source sys.source dyn.load",
        create="dir.create file.create",
        move="file.rename",
        read="readLines read.csv read.table readRDS file scan readChar",
        send="httr.POST",
        run_script="system shell",
        run_list="system2 processx.run",
        delete_tree="fs.dir_delete",
        get_variable="Sys.getenv",
        write_to="writeLines write saveRDS write.csv",
        expand_tilde="path.expand normalizePath",
        print="cat print message",
    )
    | {"paste0": lambda _, call: concatenate(list(call.args)), "c": _r_vector, "list": _r_vector},
    concat_operators=frozenset(),
    member_operators=frozenset({"::", ".", "$"}),
    aliases=(("base.", ""),),
    callback_functions=frozenset("do.call call match.fun fun get lapply sapply vapply mapply Map".split()),
)

OTHERS = CodeLanguage(
    LanguageSyntax(
        (*_SLASHES, ("#=", "=#"), ("#", "\n"), ("--", "\n")), raw="", escaped='"', interpolated="", command_quotes="`"
    ),
    build_actions(
        connect="Socket TCPSocket connect",
        copy="cp Files.copy FileManager.default.copyItem",
        delete="rm Files.delete Files.deleteIfExists removeFile FileManager.default.removeItem File.rm! File.rm",
        run_code="Meta.parse include_string Code.eval_string Eval.me evaluate",
        load_code="include",
        download="download Downloads.download",
        fetch="HTTP.get Source.fromURL",
        get_home="homedir NSHomeDirectory",
        join_paths="joinpath",
        create="mkdir mkpath createDirectory",
        move="mv renameFile renamePath Files.move FileManager.default.moveItem",
        open="open",
        read="read readlines readFile Source.fromFile",
        run_words="run Process pipeline System.cmd Runtime.getRuntime.exec spawnProcess callProcess Command.new"
        " ProcessBuilder sys.process.Process rawSystem readProcess",
        return_first="File Path.of Paths.get",
        run_script="system callCommand readCreateProcess shell ?.exec ?.execute os.cmd System.shell",
        delete_tree="removeDirectoryRecursive removePathForcibly File.rm_rf File.rm_rf! FileUtils.deleteDirectory"
        " ?.deleteDir",
        write="write writeFile appendFile File.write File.write! Files.write Files.writeString",
        print="println print putStrLn puts IO.puts",
        get_variable="getEnv System.getenv lookupEnv",
    ),
    concat_operators=frozenset({"+", "++", "*", "<>"}),
    member_operators=frozenset({".", "::", "!"}),
    bare_calls=frozenset(
        "system callCommand removeDirectoryRecursive removePathForcibly removeFile readFile writeFile run".split()
    ),
    environment_names=frozenset({"ENV"}),
    aliases=(
        ("System.Process.", ""),
        ("System.Directory.", ""),
        ("System.IO.", ""),
        ("scala.", ""),
        ("java.nio.file.", ""),
    ),
)
"""Julia, Haskell, Scala, Groovy, Elixir and Swift in one table; their names for files and programs hardly collide."""

PYTHON = CodeLanguage(
    LanguageSyntax(raw="", escaped="'\""),
    dict(PYTHON_ACTIONS),
    bare_calls=frozenset({"exec", "print"}),
    import_calls=frozenset({"__import__", "importlib.import_module"}),
    environment_names=frozenset({"os.environ"}),
    aliases=(("__builtins__.", ""), ("builtins.", "")),
)
"""A language for texts that Python's parser rejects: other versions of Python, or texts with unknown parts."""

LANGUAGES = {"javascript": JAVASCRIPT, "lua": LUA, "others": OTHERS, "perl": PERL, "php": PHP, "r": R, "ruby": RUBY}
