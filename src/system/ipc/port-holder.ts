/** Finds the process that listens on a local TCP port, for error messages. */
import { spawnSync } from 'node:child_process'
import fs from 'node:fs'

const LOOK_MS = 2_000
const LISTENS = '0A'

/** Returns text such as `node (process 1234)`, or null if there is none or it is unknown. */
export function portHolder(port: number, platform: NodeJS.Platform = process.platform): string | null {
  if (platform === 'linux') return byProc(port)
  return platform === 'win32' ? null : byLsof(port)
}

/** See proc_net_tcp: local address as hexadecimal, state, user and inode of each socket. */
function byProc(port: number): string | null {
  const sockets = ['/proc/net/tcp', '/proc/net/tcp6'].flatMap((file) => read(file).split('\n').slice(1))
  const hexadecimal = port.toString(16).toUpperCase().padStart(4, '0')
  for (const line of sockets) {
    const [, local = '', , state, , , , user, , inode] = line.trim().split(/\s+/)
    if (state !== LISTENS || local.split(':')[1] !== hexadecimal || inode === undefined) continue
    const pid = processWith(inode)
    return pid === null ? `a process of user ${user}` : described(pid)
  }
  return null
}

/** The descriptors of other users' processes are not readable. */
function processWith(inode: string): number | null {
  for (const pid of names('/proc').filter((name) => /^\d+$/.test(name))) {
    for (const fd of names(`/proc/${pid}/fd`)) {
      try {
        if (fs.readlinkSync(`/proc/${pid}/fd/${fd}`) === `socket:[${inode}]`) return Number(pid)
      } catch {
        // Closed meanwhile.
      }
    }
  }
  return null
}

/** Only the name, because a command line may contain secrets. A hub is described with its home. */
function described(pid: number): string {
  const words = read(`/proc/${pid}/cmdline`).split('\0')
  const home = words[words.indexOf('--home') + 1]
  const of = words.includes('--home') && home !== undefined ? ` of ${home}` : ''
  if (words.some((word) => word.endsWith('turnbell.cjs')) && words.includes('hub'))
    return `the hub${of} (process ${pid})`
  return `${read(`/proc/${pid}/comm`).trim() || 'a program'} (process ${pid})`
}

/** One field a line: `p` and the pid, `c` and the command. */
function byLsof(port: number): string | null {
  const { stdout } = spawnSync('lsof', ['-nP', `-iTCP:${port}`, '-sTCP:LISTEN', '-Fpc'], {
    encoding: 'utf8',
    timeout: LOOK_MS,
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  const pid = /^p(\d+)$/m.exec(stdout ?? '')?.[1]
  if (pid === undefined) return null
  return `${/^c(.+)$/m.exec(stdout)?.[1] ?? 'a program'} (process ${pid})`
}

function read(file: string): string {
  try {
    return fs.readFileSync(file, 'utf8')
  } catch {
    return ''
  }
}

function names(directory: string): string[] {
  try {
    return fs.readdirSync(directory)
  } catch {
    return []
  }
}
