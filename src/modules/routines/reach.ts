/** The outside world on its leash: the one place where programs, addresses and secrets are judged. */
import { TurnbellError } from '../../contracts/errors.ts'
import { addressOf, type Leash } from '../../contracts/leash.ts'
import { LIMITS } from '../../contracts/limits.ts'
import type { ProgramEnd, ProgramRun, Programs } from '../../ports/programs.ts'
import type { Web, WebAnswer, WebRequest } from '../../ports/web.ts'

/** Everything here throws `leash_forbidden` for what is not allowed, and then nothing has happened. */
export interface Reach {
  permitProgram(argv: readonly string[]): void
  /** See `Programs`. */
  directory(root: string, cwd: string): string
  run(program: Omit<ProgramRun, 'output_bytes_max'>): Promise<ProgramEnd>
  permitAddress(url: URL): void
  request(request: Omit<WebRequest, 'answer_bytes_max'>): Promise<WebAnswer>
  /** The value of a variable. Throws `params_invalid` where it is not set. */
  secret(name: string): string
}

export interface ReachNeeds {
  /** As it is at the moment: a leash that was shortened holds at once. */
  leash: () => Leash
  /** Why the leash may be another than its operator believes; see `RoutineModule`. */
  outdated?: () => string | null
  programs: Programs
  web: Web
  variable: (name: string) => string | undefined
}

export function createReach({ leash, outdated, programs, web, variable }: ReachNeeds): Reach {
  const beyond = (...what: BeyondWhat) => refusalOf(outdated?.() ?? null, ...what)
  const permitProgram = (argv: readonly string[]) => {
    const allowed = leash().exec
    if (allowed.some((entry) => isProgramOf(entry, argv))) return
    const [program = '', verb] = argv
    const entry = [program, ...(verb === undefined || verb.startsWith('-') ? [] : [verb])].join(' ')
    throw beyond(`The program ${shown(argv.join(' '))}`, allowed, 'exec', entry)
  }
  const permitAddress = (url: URL) => {
    const allowed = leash().network
    if (allowed.some((entry) => isAddressOf(entry, url))) return
    throw beyond(`The address ${shown(url.origin)}`, allowed, 'network', url.host)
  }
  return {
    permitProgram,
    permitAddress,
    directory: (root, cwd) => programs.directory(root, cwd),
    async run(program) {
      permitProgram(program.argv)
      return programs.run({ ...program, output_bytes_max: LIMITS.program_output_bytes_max })
    },
    async request(request) {
      permitAddress(new URL(request.url))
      return web.request({ ...request, answer_bytes_max: LIMITS.web_answer_bytes_max })
    },
    secret(name) {
      const allowed = leash().env
      if (!allowed.includes(name)) throw beyond(`The variable ${shown(name)}`, allowed, 'env', name)
      const value = variable(name)
      if (value !== undefined && value !== '') return value
      throw new TurnbellError('params_invalid', {
        detail: `The hub's environment has no ${name}.`,
        hint: 'Start the hub with this variable set.',
      })
    },
  }
}

/** Word by word, as the program gets them: no shell is there to make several of one, or another program of them. */
function isProgramOf(entry: string, argv: readonly string[]): boolean {
  const words = entry.split(' ')
  return words.every((word, at) => word !== '' && argv[at] === word)
}

const DEFAULT_PORTS: Record<string, number> = { 'http:': 80, 'https:': 443 }

function isAddressOf(entry: string, url: URL): boolean {
  const allowed = addressOf(entry)
  const default_port = DEFAULT_PORTS[url.protocol]
  if (allowed === null || default_port === undefined || allowed.host !== url.hostname) return false
  return allowed.port === null || allowed.port === (url.port === '' ? default_port : Number(url.port))
}

type BeyondWhat = [what: string, allowed: readonly string[], key: keyof Leash, entry: string]

function refusalOf(outdated: string | null, ...[what, allowed, key, entry]: BeyondWhat): TurnbellError {
  return new TurnbellError('leash_forbidden', {
    detail: `${what} is not on the leash; on it ${allowed.length === 1 ? 'is' : 'are'} ${allowed.join(', ') || 'none'}.`,
    hint: `${outdated === null ? '' : `${outdated} `}The operator can allow it in config.yaml: leash: { ${key}: [${shown(entry)}] }.`,
  })
}

const SHOWN_LENGTH_MAX = 120

function shown(text: string): string {
  return JSON.stringify(text.length > SHOWN_LENGTH_MAX ? `${text.slice(0, SHOWN_LENGTH_MAX)}…` : text)
}
