/** The command line in the test's process: captured streams, and a fake hub made of functions. */
import path from 'node:path'
import { PassThrough, Readable, Writable } from 'node:stream'
import pc from 'picocolors'
import { toProblem, TurnbellError } from '../../../src/contracts/errors/errors.ts'
import type { Cli } from '../../../src/cli/cli.ts'
import { createOutput } from '../../../src/cli/output.ts'
import { runCli } from '../../../src/cli/program.ts'
import type { ProgramResult } from '../../../src/cli/run-program.ts'
import { inspectStore } from '../../../src/storage/file/journal/inspect.ts'
import { systemClock } from '../../../src/system/clock.ts'
import { createIds } from '../../../src/system/random.ts'
import { seededRandom } from '../fakes/fake-clock.ts'

export const TEMPLATES = path.resolve(import.meta.dirname, '../../../service-templates')

/** A request to the hub: `POST /call` appears as `signals.send`, every other request as its path. */
export interface HubCall {
  what: string
  params: Record<string, unknown>
  token: string | null
  /** Value of the scope header, one character for each byte. */
  scope?: string
}

/** Handlers by name. A thrown `TurnbellError` is sent as a problem with its status; an unknown name is an error. */
export type FakeHub = Record<string, (params: Record<string, unknown>, call: HubCall) => unknown>

export interface TestCli {
  /** Runs `turnbell ARGS` in the home; resolves with the exit code. */
  run(...args: string[]): Promise<number>
  stdout(): string
  stderr(): string
  json<T>(): T
  hubCalls: HubCall[]
  programs: string[][]
  bundles: { name: string; args: string[] }[]
  cli: Cli
}

export function testCli(options: {
  home: string
  hub?: FakeHub
  input?: string
  env?: Record<string, string>
  platform?: NodeJS.Platform
  program?: (command: string, args: readonly string[]) => ProgramResult
  overrides?: Partial<Cli>
}): TestCli {
  let stdout = ''
  let stderr = ''
  let exit = 0
  const hubCalls: HubCall[] = []
  const programs: string[][] = []
  const bundles: TestCli['bundles'] = []
  const collect = (take: (text: string) => void) =>
    new Writable({
      decodeStrings: false,
      write(chunk: string | Buffer, _, done) {
        take(chunk.toString())
        done()
      },
    })
  const colors = pc.createColors(false)
  const ids = createIds(systemClock, seededRandom())
  const out = collect((text) => (stdout += text))
  const err = collect((text) => (stderr += text))
  const cli: Cli = {
    env: {
      HOME: path.join(options.home, 'user'),
      ...(options.hub === undefined ? {} : { TURNBELL_HUB_URL: 'http://hub.test' }),
      ...options.env,
    },
    cwd: options.home,
    platform: options.platform ?? process.platform,
    stdin:
      options.input === undefined ? new PassThrough().end() : Readable.from([Buffer.from(options.input)]),
    stdout: out,
    stderr: err,
    colors,
    clock: systemClock,
    random: seededRandom(),
    ids,
    fetch: fakeFetch(options.hub, hubCalls),
    node: '/usr/bin/node',
    program: '/opt/turnbell/dist/turnbell.js',
    templates: TEMPLATES,
    administratorFolder: () => path.join(options.home, 'administrator'),
    runProgram: async (command, args) => {
      programs.push([command, ...args])
      return options.program?.(command, args) ?? { code: 0, stdout: '', stderr: '' }
    },
    output(json) {
      return createOutput({ stdout: this.stdout, stderr: this.stderr, colors, ids }, json)
    },
    onTermination: () => () => {},
    inspectStore: (directory) => Promise.resolve(inspectStore(directory)),
    startBundle: async (name, args) => void bundles.push({ name, args }),
    exitWith: (code) => void (exit = code),
    ...options.overrides,
  }
  return {
    async run(...args) {
      stdout = ''
      stderr = ''
      exit = 0
      return (await runCli(cli, ['--home', options.home, ...args])) || exit
    },
    stdout: () => stdout,
    stderr: () => stderr,
    json: <T>() => JSON.parse(stdout) as T,
    hubCalls,
    programs,
    bundles,
    cli,
  }
}

function fakeFetch(hub: FakeHub | undefined, calls: HubCall[]): typeof fetch {
  return async (input, init) => {
    if (hub === undefined) {
      throw new TypeError('fetch failed', {
        cause: Object.assign(new Error('refused'), { code: 'ECONNREFUSED' }),
      })
    }
    const url = new URL(input)
    const body = JSON.parse((init?.body as string | undefined) ?? '{}') as Record<string, unknown>
    const isCall = url.pathname === '/call'
    const what = isCall ? `${String(body['tool'])}.${String(body['action'])}` : url.pathname
    const params = (isCall ? body['params'] : body) as Record<string, unknown>
    const headers = new Headers(init?.headers)
    const scope = headers.get('x-scope')
    const call: HubCall = {
      what,
      params,
      token: headers.get('authorization')?.replace(/^Bearer /, '') ?? null,
      ...(scope === null ? {} : { scope }),
    }
    calls.push(call)
    try {
      const answer = hub[what]
      if (answer === undefined) throw new TurnbellError('route_unknown', { detail: what })
      const result = await answer(params, call)
      return Response.json(isCall ? { result } : result)
    } catch (error) {
      if (!(error instanceof TurnbellError)) throw error
      const problem = toProblem(error, 'test')
      return Response.json(problem, {
        status: problem.status,
        headers: { 'content-type': 'application/problem+json' },
      })
    }
  }
}
