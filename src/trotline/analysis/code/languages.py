"""Languages that are read by the scanner: what their functions would do."""

from trotline.analysis.code.acts import ACTS, table
from trotline.analysis.code.habits import (
    joined,
    pack,
    perl_open,
    process,
    ruby_read,
    sysopen,
    timer,
    vector,
    worker,
)
from trotline.analysis.code.language import Language
from trotline.analysis.code.methods import characters
from trotline.analysis.code.python_calls import CALLS
from trotline.analysis.code.tokens import DOLLAR_NAME, Spelling
from trotline.analysis.code.values import concatenated

_SLASHES = (("//", "\n"), ("/*", "*/"))

JAVASCRIPT = Language(
    Spelling(_SLASHES, raw="", escaped="'\"", filled="`", hole="${", name=DOLLAR_NAME, slashes=True, lines=False),
    table(
        base64="atob",
        chmod="fs.chmod fs.chmodSync fs.chown fs.chownSync fs.lchown Deno.chmod Deno.chmodSync",
        codec="Buffer.from Buffer",
        connect="net.connect net.createConnection net.Socket.connect tls.connect WebSocket Deno.connect Bun.connect",
        copy="fs.cp fs.cpSync fs.copyFile fs.copyFileSync fs.copySync Deno.copyFile Deno.copyFileSync",
        delete="fs.rm fs.rmSync fs.unlink fs.unlinkSync fs.remove Deno.remove Deno.removeSync fs.removeSync rimraf"
        " rimraf.sync del.sync fs.emptyDir fs.emptyDirSync",
        empty="fs.truncate fs.truncateSync Deno.truncate",
        eval="eval Function vm.runInThisContext vm.runInNewContext vm.Script",
        fetch="fetch axios axios.get http.get https.get http.request https.request got request needle.get",
        home="os.homedir",
        join="path.join path.resolve",
        kill="process.kill Deno.kill",
        link="fs.link fs.linkSync fs.symlink fs.symlinkSync",
        make="fs.mkdir fs.mkdirSync Deno.mkdir",
        move="fs.rename fs.renameSync fs.moveSync fs.move Deno.rename Deno.renameSync",
        open="fs.open fs.openSync",
        read="fs.readFile fs.readFileSync fs.createReadStream fs.readdir fs.readdirSync Deno.readTextFile Deno.readFile"
        " Deno.readTextFileSync Bun.file",
        rmdir="fs.rmdir fs.rmdirSync",
        same="String URL decodeURIComponent unescape",
        say="console.log process.stdout.write console.info",
        send="axios.post axios.put axios.patch got.post request.post navigator.sendBeacon",
        script="child_process.exec child_process.execSync Bun.$ $ bun.$ zx.$ execa.$ execa.command execaCommand"
        " shell.exec shelljs.exec",
        spawn="child_process.spawnSync child_process.execFile child_process.execFileSync"
        " child_process.fork Deno.Command Deno.run Bun.spawn Bun.spawnSync execa",
        tree="fsExtra.remove",
        write="fs.writeFile fs.writeFileSync fs.appendFile fs.appendFileSync fs.createWriteStream fs.outputFile"
        " Deno.writeTextFile Deno.writeTextFileSync Deno.writeFile Bun.write",
    )
    | {"String.fromCharCode": characters, "String.fromCodePoint": characters}
    | {"child_process.spawn": process, "worker_threads.Worker": worker}
    | dict.fromkeys(("setTimeout", "setInterval", "setImmediate"), timer)
    | {f"shelljs.{program}": ACTS["named"] for program in "cat chmod cp ln mkdir mv rm sed touch".split()},
    members=frozenset({".", "?."}),
    loads=frozenset({"require", "import", "process.binding", "process.getBuiltinModule"}),
    environment=frozenset({"process.env", "Deno.env", "Bun.env"}),
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
    imports=True,
)

PERL = Language(
    Spelling(
        (("#", "\n"), ("=pod", "\n=cut"), ("=begin", "\n=cut"), ("=head", "\n=cut"), ("__END__", "\0")),
        filled='"',
        commands="`",
        hole="$",
        sigils="$@%",
        quote_words="qx qq qw qr q tr s m y",
        slashes=True,
        lines=False,
    ),
    table(
        base64="decode_base64 MIME.Base64.decode_base64 MIME.Base64.decode",
        chmods="chmod",
        connect="IO.Socket.INET.new IO.Socket.SSL.new IO.Socket.IP.new IO.Socket.INET IO.Socket.SSL IO.Socket.IP"
        " connect sockaddr_in inet_aton",
        copy="copy File.Copy.copy cp",
        deletes="unlink",
        download="getstore LWP.Simple.getstore mirror",
        empty="truncate",
        eval="eval",
        fetch="get LWP.Simple.get LWP.UserAgent.get HTTP.Tiny.get getprint",
        glob="glob",
        hex="hex",
        kill="kill",
        link="link symlink",
        load="do",
        make="mkdir make_path mkpath",
        move="rename move File.Copy.move mv",
        read="slurp read_file opendir Path.Tiny.slurp",
        reversed="reverse",
        rmdir="rmdir",
        say="print say printf",
        send="HTTP.Tiny.post LWP.UserAgent.post",
        several="system exec CORE.system CORE.exec CORE.GLOBAL.system POSIX.system IPC.Open3.open3 open2 open3"
        " IPC.Run.run",
        script="readpipe capture",
        tree="rmtree remove_tree File.Path.rmtree File.Path.remove_tree",
        wire="STDIN.fdopen",
        write="write_file",
    )
    | {"open": perl_open, "pack": pack, "join": joined, "sysopen": sysopen},
    joins=frozenset({"."}),
    members=frozenset({"->", "::"}),
    bare=frozenset(
        "system exec unlink print say printf open rmtree remove_tree mkdir rmdir rename eval kill chmod do pack join"
        " decode_base64 glob get getstore copy move sysopen reverse truncate".split()
    ),
    environment=frozenset({"$ENV", "%ENV"}),
    by_text=True,
)

RUBY = Language(
    Spelling(
        (("#", "\n"), ("=begin", "\n=end"), ("__END__", "\0")),
        filled='"',
        commands="`",
        hole="#{",
        sigils="$@",
        quote_words="%x %w %i %q %Q %r %",
        slashes=True,
    ),
    table(
        base64="Base64.decode64 Base64.strict_decode64 Base64.urlsafe_decode64",
        chmods="File.chmod FileUtils.chmod FileUtils.chmod_R File.chown",
        connect="TCPSocket.open TCPSocket.new UDPSocket.new Socket.tcp OpenSSL.SSL.SSLSocket.new",
        copy="FileUtils.cp FileUtils.copy FileUtils.cp_r FileUtils.copy_file IO.copy_stream",
        deletes="File.delete File.unlink FileUtils.rm FileUtils.rm_f FileUtils.safe_unlink",
        download="URI.download",
        empty="File.truncate",
        eval="eval instance_eval class_eval module_eval Kernel.eval TOPLEVEL_BINDING.eval",
        expand="File.expand_path",
        fetch="Net.HTTP.get Net.HTTP.get_response URI.open OpenURI.open_uri HTTParty.get Faraday.get"
        " Net.HTTP.get_print",
        glob="Dir.glob Dir",
        home="Dir.home",
        inflate="Zlib.Inflate.inflate Zlib.inflate",
        join="File.join",
        kill="Process.kill",
        link="File.symlink File.link FileUtils.ln_s FileUtils.ln",
        load="load require_relative",
        make="Dir.mkdir FileUtils.mkdir FileUtils.mkdir_p FileUtils.touch",
        move="File.rename FileUtils.mv FileUtils.move",
        open="File.open open File.new IO.open Kernel.open",
        program="IO.popen",
        read="File.read File.readlines File.binread Dir.entries Dir.children File.foreach",
        rmdir="Dir.rmdir Dir.delete Dir.unlink FileUtils.rmdir",
        same="URI URI.parse Pathname Pathname.new String Shellwords.escape Array",
        say="puts print p $stdout.puts STDOUT.puts $stdout.write",
        send="Net.HTTP.post Net.HTTP.post_form HTTParty.post Faraday.post",
        several="system exec spawn Kernel.system Kernel.exec Kernel.spawn Process.spawn Process.exec Open3.capture2"
        " Open3.capture2e Open3.capture3 Open3.popen2 Open3.popen3 Open3.pipeline PTY.spawn",
        tree="FileUtils.rm_r FileUtils.rm_rf FileUtils.remove_dir FileUtils.rmtree FileUtils.remove_entry"
        " FileUtils.remove_entry_secure ?.rmtree FileUtils.remove_file FileUtils.remove rm_rf rm_r",
        write="File.write IO.write File.binwrite IO.binwrite ?.write_to",
    )
    | table(delete="?.unlink ?.delete", read="?.read")
    | dict.fromkeys("IO.read IO.readlines IO.binread IO.foreach".split(), ruby_read),
    members=frozenset({".", "::", "&."}),
    bare=frozenset(
        "system exec spawn eval puts print p open load require_relative File.delete File.unlink FileUtils.rm_rf"
        " FileUtils.rm_r FileUtils.rm FileUtils.rm_f File.write File.read IO.popen Dir.glob FileUtils.mv FileUtils.cp"
        " Dir.rmdir File.rename File.open sprintf File.truncate FileUtils.remove_dir Process.spawn Kernel.system"
        " Kernel.exec Kernel.spawn Process.exec rm_rf rm_r IO.read".split()
    ),
    environment=frozenset({"ENV"}),
    calls_alone=True,
    hands=frozenset("send public_send __send__ method".split()),
)

PHP = Language(
    Spelling((*_SLASHES, ("#", "\n")), filled='"', commands="`", hole="$", sigils="$", lines=False),
    table(
        base64="base64_decode",
        chmod="chmod chown chgrp",
        connect="fsockopen pfsockopen stream_socket_client socket_connect mysqli_connect",
        copy="copy",
        delete="unlink",
        empty="ftruncate",
        eval="eval assert create_function",
        fetch="curl_init curl_setopt http_get",
        glob="glob scandir",
        hex="hex2bin",
        inflate="gzinflate gzuncompress gzdecode",
        load="include include_once require require_once",
        make="mkdir touch",
        move="rename move_uploaded_file",
        open="fopen",
        program="proc_open",
        read="file_get_contents file readfile highlight_file show_source parse_ini_file",
        reversed="strrev",
        rmdir="rmdir",
        say="echo print printf var_dump print_r",
        send="mail",
        script="system exec shell_exec passthru popen",
        spawn="pcntl_exec",
        variable="getenv",
        write="file_put_contents",
        link="symlink link",
        kill="posix_kill",
    )
    | {"implode": joined, "join": joined, "chr": characters},
    joins=frozenset({"."}),
    members=frozenset({"->", "::"}),
    bare=frozenset("echo print include include_once require require_once".split()),
    environment=frozenset({"$_ENV", "$_SERVER"}),
    by_text=True,
    hands=frozenset(
        "call_user_func call_user_func_array array_map array_walk array_filter array_reduce usort uasort uksort"
        " register_shutdown_function register_tick_function iterator_apply ob_start forward_static_call"
        " forward_static_call_array preg_replace_callback set_error_handler ReflectionFunction".split()
    ),
)

LUA = Language(
    Spelling((("--[[", "]]"), ("--[=[", "]=]"), ("--", "\n")), raw="", escaped="'\"", decimal=True),
    table(
        connect="socket.connect socket.tcp",
        delete="os.remove lfs.rmdir",
        eval="load loadstring",
        fetch="http.request",
        load="dofile loadfile",
        move="os.rename",
        open="io.open",
        read="io.lines io.input",
        same="tostring",
        say="print io.write",
        script="os.execute io.popen",
        variable="os.getenv",
        write="io.output",
    )
    | {"string.char": characters},
    joins=frozenset({".."}),
    members=frozenset({".", ":"}),
    loads=frozenset({"require"}),
    aliases=(("_G.", ""),),
)

R = Language(
    Spelling(raw="", escaped="'\""),
    table(
        chmod="Sys.chmod",
        copy="file.copy",
        delete="unlink file_delete fs.file_delete",
        deletes="file.remove",
        download="download.file",
        eval="eval parse",
        fetch="url httr.GET curl.curl",
        join="file.path",
        load="source sys.source dyn.load",
        make="dir.create file.create",
        move="file.rename",
        read="readLines read.csv read.table readRDS file scan readChar",
        send="httr.POST",
        script="system shell",
        spawn="system2 processx.run",
        tree="fs.dir_delete",
        variable="Sys.getenv",
        write_to="writeLines write saveRDS write.csv",
        expand="path.expand normalizePath",
        say="cat print message",
    )
    | {"paste0": lambda _, call: concatenated(list(call.values)), "c": vector, "list": vector},
    joins=frozenset(),
    members=frozenset({"::", ".", "$"}),
    aliases=(("base.", ""),),
    hands=frozenset("do.call call match.fun fun get lapply sapply vapply mapply Map".split()),
)

OTHERS = Language(
    Spelling((*_SLASHES, ("#=", "=#"), ("#", "\n"), ("--", "\n")), raw="", escaped='"', filled="", commands="`"),
    table(
        connect="Socket TCPSocket connect",
        copy="cp Files.copy FileManager.default.copyItem",
        delete="rm Files.delete Files.deleteIfExists removeFile FileManager.default.removeItem File.rm! File.rm",
        eval="Meta.parse include_string Code.eval_string Eval.me evaluate",
        load="include",
        download="download Downloads.download",
        fetch="HTTP.get Source.fromURL",
        home="homedir NSHomeDirectory",
        join="joinpath",
        make="mkdir mkpath createDirectory",
        move="mv renameFile renamePath Files.move FileManager.default.moveItem",
        open="open",
        read="read readlines readFile Source.fromFile",
        several="run Process pipeline System.cmd Runtime.getRuntime.exec spawnProcess callProcess"
        " Command.new ProcessBuilder"
        " sys.process.Process rawSystem readProcess",
        same="File Path.of Paths.get",
        script="system callCommand readCreateProcess shell ?.exec ?.execute os.cmd System.shell",
        tree="removeDirectoryRecursive removePathForcibly File.rm_rf File.rm_rf! FileUtils.deleteDirectory ?.deleteDir",
        write="write writeFile appendFile File.write File.write! Files.write Files.writeString",
        say="println print putStrLn puts IO.puts",
        variable="getEnv System.getenv lookupEnv",
    ),
    joins=frozenset({"+", "++", "*", "<>"}),
    members=frozenset({".", "::", "!"}),
    bare=frozenset(
        "system callCommand removeDirectoryRecursive removePathForcibly removeFile readFile writeFile run".split()
    ),
    environment=frozenset({"ENV"}),
    aliases=(
        ("System.Process.", ""),
        ("System.Directory.", ""),
        ("System.IO.", ""),
        ("scala.", ""),
        ("java.nio.file.", ""),
    ),
)
"""Julia, Haskell, Scala, Groovy, Elixir, Swift: their names for files and programs hardly collide."""

PYTHON = Language(
    Spelling(raw="", escaped="'\""),
    dict(CALLS),
    bare=frozenset({"exec", "print"}),
    loads=frozenset({"__import__", "importlib.import_module"}),
    environment=frozenset({"os.environ"}),
    aliases=(("__builtins__.", ""), ("builtins.", "")),
)
"""What Python's own parser does not accept: other versions of it, or texts with a gap."""

LANGUAGES = {"javascript": JAVASCRIPT, "lua": LUA, "others": OTHERS, "perl": PERL, "php": PHP, "r": R, "ruby": RUBY}
