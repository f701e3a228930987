/**
 * Determines the client in a terminal from the output of `ps`. tmux's program name is not enough: a client that npm
 * installed is `node`, like any other Node program.
 */
import type { TmuxClient } from './screen.ts'

export interface TerminalProcess {
  pid: number
  /** Its process group, and the terminal's foreground process group. */
  pgid: number
  tpgid: number
  args: string
}

/** Fields for `ps -o`. */
export const PROCESS_FIELDS = 'pid=,pgid=,tpgid=,args='

/** Parses the output of `ps`; invalid lines are ignored. */
export function parseProcesses(output: string): TerminalProcess[] {
  return output.split('\n').flatMap((line) => {
    const [, pid, pgid, tpgid, args] = /^\s*(\d+)\s+(\d+)\s+(-?\d+)\s+(.*)$/.exec(line) ?? []
    return args === undefined ? [] : [{ pid: Number(pid), pgid: Number(pgid), tpgid: Number(tpgid), args }]
  })
}

const PROGRAMS: Record<string, TmuxClient> = { claude: 'claude-code', codex: 'codex', opencode: 'opencode' }
const RUNTIMES = /^(?:node|nodejs|bun|deno)$/
const SHELLS = /^-?(?:sh|ash|bash|dash|fish|ksh|mksh|nu|pwsh|tcsh|csh|xonsh|zsh)$/

/**
 * Returns the client in the foreground, null for another program. A configured client is accepted for an unknown program,
 * but not for a shell or another client.
 */
export function clientInForeground(
  processes: readonly TerminalProcess[],
  configured: TmuxClient | undefined,
): TmuxClient | null {
  const foreground = processes.filter(({ pgid, tpgid }) => pgid === tpgid)
  const detected = foreground.map(({ args }) => clientOf(args)).find((client) => client !== null)
  if (detected !== undefined) return configured === undefined || configured === detected ? detected : null
  const leader = foreground.find(({ pid, pgid }) => pid === pgid)
  if (configured === undefined || leader === undefined) return null
  return SHELLS.test(programName(leader.args)) ? null : configured
}

function clientOf(args: string): TmuxClient | null {
  const [program = '', ...rest] = args.split(' ')
  const script = rest.find((word) => !word.startsWith('-')) ?? ''
  const path = RUNTIMES.test(programName(program)) ? script : program
  // The package's program is named cli.js.
  if (path.includes('/@anthropic-ai/claude-code/')) return 'claude-code'
  return PROGRAMS[programName(path)] ?? null
}

function programName(path: string): string {
  const [word = ''] = path.split(' ')
  return (word.split('/').at(-1) ?? '').replace(/\.(?:exe|js|mjs|cjs)$/, '')
}
