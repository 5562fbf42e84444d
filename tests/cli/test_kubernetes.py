# SPDX-License-Identifier: MIT
"""share/kubernetes and the image: what a pod of the agent may do, and that the agent starts with what it is told there."""

import json
import re
import shutil
import subprocess

import pytest

from conftest import REPO, ROOTS, run_wattle, wait_for
from engines import Fake
from serving import Agent, Moving

yaml = pytest.importorskip("yaml")

BASE = REPO / "share" / "kubernetes" / "base"
UID = "01234567-89ab-cdef-0123-456789abcdef"


def objects(folder=BASE):
    """{kind: object} of what kustomization.yaml names."""
    made = yaml.safe_load((folder / "kustomization.yaml").read_text())
    found = [yaml.safe_load((folder / name).read_text()) for name in made["resources"]]
    return made, {thing["kind"]: thing for thing in found}


@pytest.fixture(name="pod")
def pod_of_the_daemonset():
    return objects()[1]["DaemonSet"]["spec"]["template"]["spec"]


def test_a_pod_has_no_rights(pod):
    [container] = pod["containers"]
    rights = container["securityContext"]
    assert rights["capabilities"] == {"drop": ["ALL"]}
    assert rights["privileged"] is False and rights["allowPrivilegeEscalation"] is False and rights["readOnlyRootFilesystem"] is True
    assert rights["seccompProfile"] == {"type": "RuntimeDefault"}
    assert not {"hostPID", "hostNetwork", "hostIPC", "initContainers", "hostUsers"} & set(pod)
    assert pod["automountServiceAccountToken"] is False and pod["enableServiceLinks"] is False
    assert set(container["resources"]) == {"requests", "limits"} and all(set(part) == {"cpu", "memory"} for part in container["resources"].values())
    assert "ports" not in container
    _, found = objects()
    assert set(found) == {"Namespace", "ServiceAccount", "DaemonSet"}  # and so no role
    assert found["ServiceAccount"]["automountServiceAccountToken"] is False
    assert pod["serviceAccountName"] == found["ServiceAccount"]["metadata"]["name"]


def test_of_the_node_it_may_write_its_store_alone(pod):
    volumes = {volume["name"]: volume for volume in pod["volumes"]}
    [container] = pod["containers"]
    assert set(volumes) == {mount["name"] for mount in container["volumeMounts"]}
    for mount in container["volumeMounts"]:
        host = volumes[mount["name"]].get("hostPath", {}).get("path")
        if mount.get("readOnly"):
            assert mount["mountPath"] == "/host" + host
        else:
            assert host in (None, "/var/lib/wattle"), mount
    assert not any(mount["mountPath"].startswith(("/proc", "/sys")) for mount in container["volumeMounts"])


def words(pod, **values):
    """The agent's words, as a kubelet fills them in."""
    [container] = pod["containers"]
    told = {entry["name"] for entry in container["env"]}
    assert container["command"] == ["wattle", "serve"]
    args = [re.sub(r"\$\((\w+)\)", lambda name: values[name[1]], word) for word in container["args"]]
    assert told == set(values)
    return args


def test_the_agent_of_a_pod(pod, machine, tmp_path):
    """Its options, on a node of files: the node's name, and that of a pod."""
    root = machine("xeon-2s-dram")
    (root.path / f"var/log/pods/team-a_trainer-0_{UID}").mkdir(parents=True)
    made, _ = objects()
    [config] = made["configMapGenerator"]
    given = dict(literal.split("=", 1) for literal in config["literals"])
    for entry in pod["containers"][0]["env"]:
        if "configMapKeyRef" in entry["valueFrom"]:
            assert entry["valueFrom"]["configMapKeyRef"]["name"] == config["name"] and entry["valueFrom"]["configMapKeyRef"]["key"] in given
        else:
            assert entry["valueFrom"]["fieldRef"] == {"fieldPath": "spec.nodeName"}
    with Moving(root, processes=1), Fake(lambda n, series: 204) as engine:
        # As a container in a namespace of control groups of its own sees another pod.
        root.put("proc/1000/cgroup", f"0::/../../kubepods-burstable-pod{UID.replace('-', '_')}.slice/cri-containerd-{'3f' * 32}.scope\n")
        args = words(pod, NODE_NAME="node-7", WATTLE_PUSH=engine.url, WATTLE_LOCATION=given["location"])
        here = {"--root=/host": f"--root={root.path}", "--store=/var/lib/wattle/serve": f"--store={tmp_path}/serve",
                "--idle-file=/var/lib/wattle/idle": f"--idle-file={tmp_path}/idle"}
        assert set(here) <= set(args)
        with Agent(*(here.get(word, word) for word in args), "--push-interval", "1s"):
            def told():
                rows = engine.rows()
                return [dict(labels) for row in rows.values() for labels in row if dict(labels)["__name__"] == "wattle_pod_info"]
            info = wait_for(told, "a pod's name")[0]
    assert (info["instance"], info["namespace"], info["pod"], info["pod_id"]) == ("node-7", "team-a", "trainer-0", UID)


def test_the_place_that_is_given():
    """The location that stands there is one."""
    made, _ = objects()
    [location] = [literal.partition("=")[2] for literal in made["configMapGenerator"][0]["literals"] if literal.startswith("location=")]
    assert run_wattle("run", "--root", ROOTS / "xeon-2s-dram", "--nvml", "", "--location", location, "--", "true").code == 0


@pytest.mark.parametrize("folder", ["base", "nvidia"])
def test_kustomize(folder):
    """kubectl puts it together, with the name of the image and the settings."""
    if not shutil.which("kubectl"):
        pytest.skip("kubectl is not there")
    done = subprocess.run(["kubectl", "kustomize", BASE.parent / folder], capture_output=True, text=True, check=True, timeout=60)
    found = {thing["kind"]: thing for thing in yaml.safe_load_all(done.stdout)}
    pod = found["DaemonSet"]["spec"]["template"]["spec"]
    settings = found["ConfigMap"]["metadata"]["name"]
    assert settings.startswith("wattle-") and json.dumps(pod).count(settings) == 2
    assert re.fullmatch(r"wattle:[\d.]+", pod["containers"][0]["image"])
    assert ("runtimeClassName" in pod) == (folder == "nvidia")


def test_versions():
    """The image's tag is wattle's version."""
    version = run_wattle("--version").out.split()[-1]
    made, _ = objects()
    assert [image["newTag"] for image in made["images"]] == [version]
    assert f"wattle:{version}" in (REPO / "packaging" / "Containerfile").read_text()


def test_the_image_has_what_debians_package_wants():
    control = (REPO / "debian" / "control").read_text()
    [package] = [part for part in control.split("\n\n") if part.startswith("Package: wattle\n")]
    wanted = set(re.findall(r"^ (lib[\w.+-]+|zlib1g)", re.search(r"^Depends:(.*?)^Suggests:", package, re.M | re.S)[1], re.M))
    text = (REPO / "packaging" / "Containerfile").read_text()
    installed = set(re.search(r"--no-install-recommends (.*?)&&", text, re.S)[1].replace("\\", "").split())
    assert installed == wanted - {"libc6"} | {"ca-certificates"}  # the image begins with libc6
