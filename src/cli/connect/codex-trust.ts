/**
 * Codex runs a hook only once its person trusts it. This says so on the person's behalf, when asked to, by
 * Codex's own way: a short-lived app-server writes it into the person's configuration.
 */
import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import * as z from 'zod'
import { describeIssues, TurnbellError } from '../../contracts/errors.ts'
import { LIMITS } from '../../contracts/limits.ts'
import type { Clock } from '../../ports/clock.ts'
import { VERSION } from '../../system/version.ts'
import { jsonAs } from '../../contracts/json.ts'

const Hooks = z.object({
  data: z.array(
    z.object({
      hooks: z.array(
        z.object({
          key: z.string(),
          command: z.string().nullish(),
          currentHash: z.string(),
          trustStatus: z.string(),
        }),
      ),
    }),
  ),
})

const Answer = z.looseObject({
  id: z.number(),
  result: z.unknown().optional(),
  error: z.looseObject({ message: z.string() }).optional(),
})

/** Null for whatever else Codex may print. */
const answerIn = (line: string) => jsonAs(Answer, line)

interface Asked {
  codex: string
  env: NodeJS.ProcessEnv
  clock: Clock
  project: string
}

/** The keys of the hooks that run exactly one of these commands. They are trusted; `given` were not before. */
export interface Trust {
  trusted: string[]
  given: string[]
}

export async function trustHooks(asked: Asked, commands: readonly string[]): Promise<Trust> {
  return withAppServer(asked, async (call) => {
    const listed = Hooks.safeParse(await call('hooks/list', { cwds: [asked.project] }))
    if (!listed.success) throw notDone(`it lists them in another form: ${describeIssues(listed.error)}`)
    const ours = listed.data.data
      .flatMap(({ hooks }) => hooks)
      .filter(({ command }) => command != null && commands.includes(command))
    const untrusted = ours.filter(({ trustStatus }) => trustStatus !== 'trusted')
    if (untrusted.length > 0) {
      await call(
        'config/batchWrite',
        edits(untrusted.map(({ key, currentHash }) => [key, { trusted_hash: currentHash }])),
      )
    }
    const keys = (hooks: typeof ours) => hooks.map(({ key }) => key)
    return { trusted: keys(ours), given: keys(untrusted) }
  })
}

/** Takes the trust back. */
export async function distrustHooks(asked: Asked, keys: readonly string[]): Promise<void> {
  await withAppServer(asked, (call) => call('config/batchWrite', edits(keys.map((key) => [key, null]))))
}

function edits(values: [string, object | null][]): object {
  return {
    edits: values.map(([key, value]) => ({
      keyPath: `hooks.state.${JSON.stringify(key)}`,
      value,
      mergeStrategy: value === null ? 'replace' : 'upsert',
    })),
    reloadUserConfig: true,
  }
}

function notDone(why: string): TurnbellError {
  return new TurnbellError('timed_out', {
    detail: `Codex did not do what it was asked about its hooks: ${why}.`,
    hint: 'Connect again; or leave out --trust-hooks, and say yes when Codex asks at its next start.',
  })
}

type Call = (method: string, params: object) => Promise<unknown>

async function withAppServer<T>(
  { codex, env, clock, project }: Asked,
  work: (call: Call) => Promise<T>,
): Promise<T> {
  const child = spawn(codex, ['app-server'], { cwd: project, env, stdio: ['pipe', 'pipe', 'ignore'] })
  const waiting = new Map<number, { resolve: (value: unknown) => void; reject: (error: Error) => void }>()
  const fail = (why: string) => {
    const error = notDone(why)
    for (const { reject } of waiting.values()) reject(error)
  }
  child.once('error', (error) => fail(error.message))
  child.once('exit', () => fail('it has ended'))
  child.stdin.on('error', () => {})
  createInterface({ input: child.stdout }).on('line', (line) => {
    const answer = answerIn(line)
    const waiter = waiting.get(answer?.id ?? -1)
    if (answer === null || waiter === undefined) return
    if (answer.error === undefined) waiter.resolve(answer.result)
    else fail(answer.error.message)
  })
  let asked = 0
  const say = (message: object) => child.stdin.write(`${JSON.stringify(message)}\n`)
  const call: Call = (method, params) =>
    new Promise((resolve, reject) => {
      const id = ++asked
      waiting.set(id, { resolve, reject })
      say({ id, method, params })
    })
  const late = clock.after(LIMITS.process_start_ms, () => fail('it took too long'))
  try {
    const clientInfo = { name: 'turnbell', title: 'turnbell', version: VERSION }
    await call('initialize', { clientInfo, capabilities: { experimentalApi: true } })
    say({ method: 'initialized' })
    return await work(call)
  } finally {
    late.cancel()
    child.kill()
  }
}
