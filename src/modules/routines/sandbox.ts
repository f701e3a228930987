/** The sandbox policy of routines: checks programs, addresses and secrets before their use. */
import { TurnbellError } from '../../contracts/errors/errors.ts'
import { addressOf, type SandboxPolicy } from '../../contracts/sandbox-policy.ts'
import { LIMITS } from '../../contracts/limits/limits.ts'
import type { ProgramResult, ProgramRun, StepRunner } from '../../ports/step-runner.ts'
import type { Web, WebResponse, WebRequest } from '../../ports/web.ts'

/** Every method throws `leash_forbidden`, before any effect, if the policy does not allow it. */
export interface Reach {
  permitProgram(argv: readonly string[]): void
  /** See `Programs`. */
  directory(root: string, cwd: string): string
  run(program: Omit<ProgramRun, 'output_bytes_max'>): Promise<ProgramResult>
  permitAddress(url: URL): void
  request(request: Omit<WebRequest, 'response_bytes_max'>): Promise<WebResponse>
  /** Returns the value of an environment variable. Throws `params_invalid` if it is not set. */
  secret(name: string): string
}

export interface SandboxDeps {
  /** The current policy, so that a restriction takes effect at once. */
  sandbox: () => SandboxPolicy
  /** Hint that the policy may be outdated, or null; see `RoutineModule.outdated`. */
  outdated?: () => string | null
  programs: StepRunner
  web: Web
  variable: (name: string) => string | undefined
}

export function createReach({ sandbox, outdated, programs, web, variable }: SandboxDeps): Reach {
  const beyond = (...what: BeyondWhat) => refusalOf(outdated?.() ?? null, ...what)
  const permitProgram = (argv: readonly string[]) => {
    const allowed = sandbox().exec
    if (allowed.some((entry) => isProgramOf(entry, argv))) return
    const [program = '', verb] = argv
    const entry = [program, ...(verb === undefined || verb.startsWith('-') ? [] : [verb])].join(' ')
    throw beyond(`The program ${shown(argv.join(' '))}`, allowed, 'exec', entry)
  }
  const permitAddress = (url: URL) => {
    const allowed = sandbox().network
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
      return web.request({ ...request, response_bytes_max: LIMITS.web_answer_bytes_max })
    },
    secret(name) {
      const allowed = sandbox().env
      if (!allowed.includes(name)) throw beyond(`The variable ${shown(name)}`, allowed, 'env', name)
      const value = variable(name)
      if (value !== undefined && value !== '') return value
      throw new TurnbellError('params_invalid', {
        detail: `The environment variable ${name} of the hub is not set.`,
        hint: 'Start the hub with this variable.',
      })
    },
  }
}

/** Compares argument by argument, as the program receives them, because no shell splits or expands them. */
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

type BeyondWhat = [what: string, allowed: readonly string[], key: keyof SandboxPolicy, entry: string]

function refusalOf(outdated: string | null, ...[what, allowed, key, entry]: BeyondWhat): TurnbellError {
  return new TurnbellError('leash_forbidden', {
    detail: `${what} is not allowed by sandbox.${key}; allowed: ${allowed.join(', ') || 'nothing'}.`,
    hint: `${outdated === null ? '' : `${outdated} `}The operator can allow it in config.yaml: sandbox: { ${key}: [${shown(entry)}] }.`,
  })
}

const SHOWN_LENGTH_MAX = 120

function shown(text: string): string {
  return JSON.stringify(text.length > SHOWN_LENGTH_MAX ? `${text.slice(0, SHOWN_LENGTH_MAX)}…` : text)
}
