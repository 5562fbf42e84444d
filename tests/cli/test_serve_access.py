# SPDX-License-Identifier: MIT
"""wattle serve --web-config: TLS, certificates of clients, users; and the same files under Prometheus' own check."""

import base64
import ctypes
import ctypes.util
import http.client
import json
import resource
import shutil
import signal
import ssl
import subprocess
import time

import pytest

from conftest import ROOTS, TIMEOUT, run_wattle, wait_for
from serving import Agent

XEON = ("--root", ROOTS / "xeon-2s-dram")
SALT = "abcdefghijklmnopqrstuu"


@pytest.fixture(autouse=True)
def is_built():
    if "built without a server" in run_wattle("serve", "--help").err:
        pytest.skip("this wattle was built without a server")


def bcrypt(password, cost=4):
    library = ctypes.CDLL(ctypes.util.find_library("crypt"))
    library.crypt.restype = ctypes.c_char_p
    made = library.crypt(password.encode(), f"$2y${cost:02}${SALT}".encode())
    if not made or not made.startswith(b"$2y$"):
        pytest.skip("libcrypt has no bcrypt here")
    return made.decode()


@pytest.fixture(name="files", scope="module")
def certificates(tmp_path_factory):
    """A server's and two clients' certificates, one of them by a stranger."""
    path = tmp_path_factory.mktemp("certificates")
    if not shutil.which("openssl"):
        pytest.skip("openssl is not there")

    def make(name, *how):
        subprocess.run(("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
                        "-keyout", path / f"{name}.key", "-out", path / f"{name}.crt", "-subj", f"/CN={name}", *how),
                       check=True, capture_output=True)
    for name in ("ca", "strangers"):
        make(name)
        make(f"client-of-{name}", "-CA", path / f"{name}.crt", "-CAkey", path / f"{name}.key", "-addext", "basicConstraints=CA:FALSE",
             "-addext", "extendedKeyUsage=clientAuth") if has_ca_option() else sign(path, name)
    make("server", "-addext", "subjectAltName=IP:127.0.0.1")
    make("other", "-addext", "subjectAltName=IP:127.0.0.1")
    return path


def has_ca_option():
    return "-CA " in subprocess.run(("openssl", "req", "-help"), capture_output=True, text=True, check=False).stderr


def sign(path, name):
    client = f"client-of-{name}"
    subprocess.run(("openssl", "req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout",
                    path / f"{client}.key", "-out", path / f"{client}.csr", "-subj", f"/CN={client}"), check=True, capture_output=True)
    (path / "ext").write_text("basicConstraints=CA:FALSE\nextendedKeyUsage=clientAuth\n")
    subprocess.run(("openssl", "x509", "-req", "-in", path / f"{client}.csr", "-CA", path / f"{name}.crt", "-CAkey", path / f"{name}.key",
                    "-CAcreateserial", "-days", "2", "-extfile", path / "ext", "-out", path / f"{client}.crt"), check=True,
                   capture_output=True)


TLS = "tls_server_config:\n  cert_file: server.crt\n  key_file: server.key\n"
MUTUAL = TLS + "  client_ca_file: ca.crt\n  client_auth_type: RequireAndVerifyClientCert\n  min_version: TLS13\n"


@pytest.fixture(name="config")
def configured(files):
    """config(text): such a file beside the certificates, which Prometheus takes as well, unless it is to be wrong."""
    made = []

    def put(text, is_right=True):
        path = files / f"web-{len(made)}-{time.monotonic_ns()}.yml"
        path.write_text(text)
        made.append(path)
        if is_right and shutil.which("promtool"):
            done = subprocess.run(("promtool", "check", "web-config", path), capture_output=True, text=True, check=False)
            assert done.returncode == 0, done
        return path
    yield put
    for path in made:
        path.unlink()


def users(**passwords):
    return "basic_auth_users:\n" + "".join(f"  {name}: {bcrypt(password)}\n" for name, password in passwords.items())


def authorization(user, password):
    return {"Authorization": "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()}


def ask(agent, files, path="/healthz", client=None, headers=None, least=None, most=None):
    context = ssl.create_default_context(cafile=files / "server.crt")
    if least:
        context.minimum_version = least
    if most:
        context.maximum_version = most
    if client:
        context.load_cert_chain(files / f"{client}.crt", files / f"{client}.key")
    there = http.client.HTTPSConnection("127.0.0.1", agent.port, timeout=TIMEOUT, context=context)
    try:
        there.request("GET", path, headers=headers or {})
        answer = there.getresponse()
        return answer.status, answer.headers, answer.read()
    finally:
        there.close()


def test_tls(config, files):
    with Agent(*XEON, "--web-config", config(TLS)) as agent:
        assert "serving at https://" in agent.said
        assert ask(agent, files, "/nowhere")[0] == 404
        with pytest.raises((OSError, http.client.HTTPException)):
            agent.ask("/healthz")


def test_certificates_of_clients(config, files):
    with Agent(*XEON, "--web-config", config(MUTUAL)) as agent:
        assert ask(agent, files, "/nowhere", client="client-of-ca")[0] == 404
        assert ask(agent, files, "/nowhere")[0] == 403
        assert ask(agent, files, "/nowhere", client="client-of-strangers")[0] == 403
        with pytest.raises((ssl.SSLError, OSError)):
            ask(agent, files, client="client-of-ca", most=ssl.TLSVersion.TLSv1_2)
    with Agent(*XEON, "--web-config", config(MUTUAL.replace("RequireAndVerifyClientCert", "VerifyClientCertIfGiven"))) as agent:
        assert ask(agent, files, "/nowhere", client="client-of-ca")[0] == 404
        assert ask(agent, files, "/nowhere")[0] == 404
        assert ask(agent, files, "/nowhere", client="client-of-strangers")[0] == 403


def test_users(config):
    with Agent(*XEON, "--web-config", config(users(ann="secret", bob="other:word"))) as agent:
        def status(*who):
            return agent.ask("/nowhere", headers=authorization(*who) if who else {})[0]
        code, headers, _ = agent.ask("/metrics")
        assert (code, headers["WWW-Authenticate"].split()[0]) == (401, "Basic")
        assert status("ann", "secret") == 404
        assert status("bob", "other:word") == 404
        assert status("ann", "other:word") == 401
        assert status("eve", "secret") == 401
        assert agent.ask("/nowhere", headers={"Authorization": "Basic !!!"})[0] == 401
        assert agent.ask("/nowhere", headers={"Authorization": "Bearer x"})[0] == 401


def test_guessing_is_slow_and_stops_nobody(config):
    """Passwords that were right before cost nothing, and wrong ones are hashed a few times a second at most."""
    with Agent(*XEON, "--web-config", config(users(ann="secret"))) as agent:
        assert agent.ask("/nowhere", headers=authorization("ann", "secret"))[0] == 404
        answers = [agent.ask("/nowhere", headers=authorization(f"user{i}", f"word{i}"))[:2] for i in range(50)]
        assert {code for code, _ in answers} == {401, 429}
        assert answers[-1][1]["Retry-After"] == "1"
        assert sum(code == 401 for code, _ in answers) < 20
        assert agent.ask("/nowhere", headers=authorization("ann", "secret"))[0] == 404


@pytest.mark.parametrize("options,words,is_told", [
    ("rw,hidepid=invisible", (), True), ("rw", (), False), ("rw,hidepid=2", ("--no-processes",), False), ("rw,hidepid=2", None, False)])
def test_what_proc_hides_is_told(config, machine, options, words, is_told):
    """Root's agent sees all, and answers everybody."""
    hiding = machine("xeon-2s-dram")
    hiding.put("proc/self/mountinfo", f"22 1 0:21 / /proc rw,nosuid - proc proc {options}\n")
    if words is None:
        words = ("--web-config", config(users(prometheus="secret")))
    with Agent("--root", hiding.path, "--no-store", *words) as agent:
        pass
    assert ("/proc hides the processes of others (hidepid), but everybody on this machine" in agent.said) == is_told


def test_elsewhere_needs_both(config):
    """Another address than this machine's own: encrypted, and nobody unknown."""
    for text in (TLS, users(ann="secret")):
        result = run_wattle("serve", *XEON, "--port", "1", "--address", "0.0.0.0", "--web-config", config(text))
        assert result.code == 1
        assert "tls_server_config, and basic_auth_users" in result.complaint()
    with Agent(*XEON, "--address", "0.0.0.0", "--web-config", config(TLS + users(ann="secret"))):
        pass
    with Agent(*XEON, "--address", "0.0.0.0", "--web-config", config(MUTUAL)):
        pass


HASH = "$2y$10$" + "a" * 53
WRONG = [
    ("tls_server_config:\n  cert_file: server.crt\n", 1, "needs cert_file and key_file"),
    (TLS + "  cipher_suites: [x]\n", 4, "the key 'cipher_suites' is not known"),
    (TLS + "  key_file: server.key\n", 4, "the key 'key_file' is there twice"),
    (TLS + "  client_auth_type: RequireAnyClientCert\n", 4, "is to be NoClientCert"),
    (TLS + "  client_auth_type: RequireAndVerifyClientCert\n", 1, "without client_ca_file"),
    (TLS + "  client_ca_file: ca.crt\n", 1, "without client_auth_type"),
    (TLS + "  min_version: SSL30\n", 4, "TLS12"),
    ("tls_server_config:\n  cert_file: [server.crt]\n", 2, "a file's path"),
    ("tls_server_config: 5\n", 1, "keys with values"),
    ("rate_limit:\n  burst: 1\n", 1, "'rate_limit' is not known"),
    ("a: b\n: :\n - x", 2, "did not find expected key"),
    ("\tx: y\n", 1, "cannot start any token"),
    ("- a\n", 1, "keys with values"),
    ("basic_auth_users:\n  ann: secret\n", 2, "a hash by bcrypt"),
    (f"basic_auth_users:\n  ann: {HASH[:-1]}\n", 2, "a hash by bcrypt"),
    (f"basic_auth_users:\n  ann: {HASH.replace('10', '31', 1)}\n", 2, "a cost"),
    (f"basic_auth_users:\n  ann: {HASH}\n  ann: {HASH}\n", 3, "'ann' is there twice"),
    (f"basic_auth_users:\n  'a:b': {HASH}\n", 2, "without a colon"),
    ("basic_auth_users:\n  ? [x]\n  : y\n", 2, "a user's name"),
]


@pytest.mark.parametrize("text,line,says", WRONG)
def test_files_that_are_wrong(config, text, line, says):
    """One line, with the file and the line in it."""
    path = config(text, is_right=False)
    result = run_wattle("serve", *XEON, "--port", "0", "--web-config", path)
    assert result.code == 1
    complaint = result.complaint()
    assert f"{path.name}:{line}: " in complaint, complaint
    assert says in complaint


def test_files_that_do_not_fit(config, files, tmp_path):
    def complaint(text):
        result = run_wattle("serve", *XEON, "--port", "0", "--web-config", config(text, is_right=False))
        assert result.code == 1
        return result.complaint()
    said = complaint(TLS.replace("server.key", "other.key"))
    assert f"{files}/other.key: this key is not that of the certificate {files}/server.crt" in said
    assert "nothing.crt: No such file" in complaint(TLS.replace("server.crt", "nothing.crt"))
    assert "server.key: it is no certificate" in complaint(TLS.replace("server.crt", "server.key"))
    result = run_wattle("serve", *XEON, "--port", "0", "--web-config", tmp_path / "none.yml")
    assert result.complaint().endswith("none.yml: No such file or directory")
    (tmp_path / "big.yml").write_text("# x\n" * 20000)
    assert "more than 64 KiB" in run_wattle("serve", *XEON, "--port", "0", "--web-config", tmp_path / "big.yml").complaint()


def test_sighup_reads_it_again(config, files):
    path = config(TLS + users(ann="secret"))
    with Agent(*XEON, "--web-config", path) as agent:
        def status(password):
            return ask(agent, files, "/nowhere", headers=authorization("ann", password))[0]
        assert (status("secret"), status("new")) == (404, 401)
        path.write_text(TLS + users(ann="new"))
        agent.process.send_signal(signal.SIGHUP)
        agent.expect("was read again")
        assert (status("secret"), status("new")) == (401, 404)
        path.write_text(TLS + "nonsense: 1\n")
        agent.process.send_signal(signal.SIGHUP)
        agent.expect(r":4: the key 'nonsense' is not known.*: the old configuration stays\n")
        assert (status("secret"), status("new")) == (401, 404)
        path.write_text(users(ann="new"))
        agent.process.send_signal(signal.SIGHUP)
        agent.expect("was read again\n(.*\n)*.*was read again")
        assert agent.ask("/nowhere", headers=authorization("ann", "new"))[0] == 404
    assert agent.code == 0


def test_sighup_ends_what_is_open(config):
    """Also a stream, which may have been somebody's who may not ask any more; measuring goes on."""
    path = config(users(ann="secret"))
    with Agent(*XEON, "--web-config", path) as agent:
        def is_there():
            return agent.ask("/metrics", headers=authorization("ann", "secret"))[0] == 200
        wait_for(is_there, "a measurement")
        with agent.connect() as there:
            line = f"Authorization: {authorization('ann', 'secret')['Authorization']}"
            there.sendall(f"GET /api/v1/stream HTTP/1.1\r\nHost: localhost\r\n{line}\r\n\r\n".encode())
            assert there.recv(10) == b"HTTP/1.1 2"
            for _ in range(3):
                agent.process.send_signal(signal.SIGHUP)
                agent.expect("was read again")
                agent.said = ""
            while there.recv(65536):
                pass
        assert is_there()
    assert agent.code == 0


def test_a_small_stack(config, files):
    """Batch systems and embedded machines set such limits: threads have room of their own."""
    def limited():
        resource.setrlimit(resource.RLIMIT_STACK, (96 << 10, 96 << 10))
    with Agent(*XEON, "--web-config", config(MUTUAL + users(ann="secret")), preexec_fn=limited) as agent:
        assert ask(agent, files, "/nowhere", client="client-of-ca", headers=authorization("ann", "secret"))[0] == 404
        with open(f"/proc/{agent.process.pid}/maps", encoding="ascii") as maps:
            assert sum(size >= 1 << 20 for size in stack_sizes(maps)) >= len(agent.threads()) - 1
    assert agent.code == 0


def stack_sizes(maps):
    """Of anonymous memory behind a guard page, as threads' stacks are."""
    guard = None
    for line in maps:
        span, rights, _, _, inode, *name = line.split()
        begin, end = (int(part, 16) for part in span.split("-"))
        if rights == "rw-p" and inode == "0" and not name and guard == begin:
            yield end - begin
        guard = end if rights == "---p" else None


def test_sighup_without_a_file(tmp_path):
    with Agent(*XEON, "--store", tmp_path) as agent:
        agent.process.send_signal(signal.SIGHUP)
        agent.expect("no --web-config that could be read again")
        assert agent.ask("/nowhere")[0] == 404


def test_a_broken_file_when_the_reader_comes(config, tmp_path):
    """An exporter that takes the domains of its reader goes on with the users that it knows, whatever became of their file since."""
    path, here = config(users(ann="secret")), ("--socket", tmp_path / "s")
    with Agent("--exporter", "--web-config", path, "-i", "20", *here) as exporter:
        assert exporter.ask("/healthz")[0] == 401
        path.write_text("rubbish: 1\n")
        for root in ("xeon-2s-dram", "client-psys"):
            with Agent("--reader", "--no-store", "--root", ROOTS / root, *here, wants_port=False):
                def answers():
                    assert exporter.process.poll() is None
                    try:
                        status, _, body = exporter.ask("/api/v1/history", headers=authorization("ann", "secret"))
                    except (ConnectionError, http.client.HTTPException):
                        return None  # it lets go all who are connected
                    return status == 200 and [d["name"] for d in json.loads(body)["domains"]]
                wait_for(lambda r=root: (names := answers()) and ("dram-1" in names) == (r == "xeon-2s-dram"), "the reader's domains")
                assert exporter.ask("/healthz")[0] == 401
        exporter.process.send_signal(signal.SIGHUP)
        exporter.expect("the old configuration stays")
        assert exporter.ask("/healthz", headers=authorization("ann", "secret"))[0] in (200, 503)
    assert exporter.code == 0, exporter.said
