/**
 * Which client holds a terminal, from what `ps` says of it. The name that tmux shows is not enough: a client
 * that npm installed is `node`, and so is any other Node program.
 */
import type { TmuxClient } from './screen.ts'

export interface TerminalProcess {
  pid: number
  /** Its process group, and the one that the terminal listens to. */
  pgid: number
  tpgid: number
  args: string
}

/** For `ps -o`. */
export const PROCESS_FIELDS = 'pid=,pgid=,tpgid=,args='

/** Lines of `ps`; those that are none are left out. */
export function processesIn(output: string): TerminalProcess[] {
  return output.split('\n').flatMap((line) => {
    const [, pid, pgid, tpgid, args] = /^\s*(\d+)\s+(\d+)\s+(-?\d+)\s+(.*)$/.exec(line) ?? []
    return args === undefined ? [] : [{ pid: Number(pid), pgid: Number(pgid), tpgid: Number(tpgid), args }]
  })
}

const PROGRAMS: Record<string, TmuxClient> = { claude: 'claude-code', codex: 'codex', opencode: 'opencode' }
const RUNTIMES = /^(?:node|nodejs|bun|deno)$/
const SHELLS = /^-?(?:sh|ash|bash|dash|fish|ksh|mksh|nu|pwsh|tcsh|csh|xonsh|zsh)$/

/**
 * The client in the foreground, null where something else is. A configured one is believed of a program
 * that is not known here, but never of a shell or of another client.
 */
export function clientInForeground(
  processes: readonly TerminalProcess[],
  configured: TmuxClient | undefined,
): TmuxClient | null {
  const front = processes.filter(({ pgid, tpgid }) => pgid === tpgid)
  const known = front.map(({ args }) => clientOf(args)).find((client) => client !== null)
  if (known !== undefined) return configured === undefined || configured === known ? known : null
  const leader = front.find(({ pid, pgid }) => pid === pgid)
  if (configured === undefined || leader === undefined) return null
  return SHELLS.test(programName(leader.args)) ? null : configured
}

function clientOf(args: string): TmuxClient | null {
  const [program = '', ...rest] = args.split(' ')
  const script = rest.find((word) => !word.startsWith('-')) ?? ''
  const path = RUNTIMES.test(programName(program)) ? script : program
  // The package's own file is called cli.js.
  if (path.includes('/@anthropic-ai/claude-code/')) return 'claude-code'
  return PROGRAMS[programName(path)] ?? null
}

function programName(path: string): string {
  const [word = ''] = path.split(' ')
  return (word.split('/').at(-1) ?? '').replace(/\.(?:exe|js|mjs|cjs)$/, '')
}
