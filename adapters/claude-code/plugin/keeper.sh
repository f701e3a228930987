#!/bin/sh
# Keeps one worker alive for one Claude Code session.
#
# The client does not restart a dead stdio server. It does speak the stateless revision of MCP, so a new
# worker on the same pipes goes on without a handshake and the client notices nothing. A worker that ends
# with 0 was told to, or its client is gone; anything else is brought back, ever more slowly while it
# keeps failing. Windows has no /bin/sh, so there the plugin does not start.
TURNBELL_HOST_PID=$PPID
TURNBELL_RESPAWN=0
export TURNBELL_HOST_PID TURNBELL_RESPAWN
here=$(dirname "$0")
failures=0
said=0
while :; do
  began=$(date +%s)
  # By the name that it was connected with; where that is gone, as after an upgrade, by PATH.
  node=${TURNBELL_NODE:-node}
  command -v "$node" >/dev/null 2>&1 || node=node
  if command -v "$node" >/dev/null 2>&1; then
    "$node" "$here/shim.js" && exit 0
    TURNBELL_RESPAWN=1
  elif [ $said = 0 ]; then
    # Once: it is looked for again until the session ends.
    echo "turnbell finds no node: neither ${TURNBELL_NODE:-node} nor by PATH" >&2
    said=1
  fi
  # A worker that cannot even start never sees that its client is gone.
  kill -0 "$TURNBELL_HOST_PID" 2>/dev/null || exit 0
  if [ $(($(date +%s) - began)) -ge 10 ]; then failures=0; fi
  failures=$((failures + 1))
  # An installation that is being replaced lacks the file for a moment only.
  if [ ! -f "$here/shim.js" ] && [ $failures -gt 7 ]; then
    echo "turnbell is no longer installed in $here" >&2
    exit 0
  fi
  case $failures in
    1 | 2 | 3) sleep 0.2 ;;
    4 | 5) sleep 1 ;;
    6 | 7) sleep 5 ;;
    *) sleep 30 ;;
  esac
done
