/**
 * Marks hooks as trusted in Codex, which runs only hooks that the person trusts. A short-lived app-server of Codex writes
 * the trust into the user's configuration.
 */
import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import * as z from 'zod'
import { describeIssues, TurnbellError } from '../../contracts/errors/errors.ts'
import { LIMITS } from '../../contracts/limits/limits.ts'
import type { Clock } from '../../ports/clock.ts'
import { VERSION } from '../../system/version.ts'
import { parseJsonAs } from '../../contracts/validation/json.ts'

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

/** Returns null for other output of Codex. */
const answerIn = (line: string) => parseJsonAs(Answer, line)

interface CodexOptions {
  codex: string
  env: NodeJS.ProcessEnv
  clock: Clock
  project: string
}

export interface Trust {
  /** Keys of the hooks that run exactly one of the commands. */
  trusted: string[]
  /** Keys of those that were not trusted before. */
  given: string[]
}

export async function trustHooks(options: CodexOptions, commands: readonly string[]): Promise<Trust> {
  return withAppServer(options, async (call) => {
    const listed = Hooks.safeParse(await call('hooks/list', { cwds: [options.project] }))
    if (!listed.success) throw failed(`its list has an unknown form: ${describeIssues(listed.error)}`)
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

/** Removes the trust. */
export async function distrustHooks(options: CodexOptions, keys: readonly string[]): Promise<void> {
  await withAppServer(options, (call) => call('config/batchWrite', edits(keys.map((key) => [key, null]))))
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

function failed(why: string): TurnbellError {
  return new TurnbellError('timed_out', {
    detail: `Codex did not change the trust of its hooks: ${why}.`,
    hint: 'Connect again, or omit --trust-hooks and answer yes when Codex asks at its next start.',
  })
}

type Call = (method: string, params: object) => Promise<unknown>

async function withAppServer<T>(
  { codex, env, clock, project }: CodexOptions,
  work: (call: Call) => Promise<T>,
): Promise<T> {
  const child = spawn(codex, ['app-server'], { cwd: project, env, stdio: ['pipe', 'pipe', 'ignore'] })
  const waiting = new Map<number, { resolve: (value: unknown) => void; reject: (error: Error) => void }>()
  const fail = (why: string) => {
    const error = failed(why)
    for (const { reject } of waiting.values()) reject(error)
  }
  child.once('error', (error) => fail(error.message))
  child.once('exit', () => fail('its app-server ended'))
  child.stdin.on('error', () => {})
  createInterface({ input: child.stdout }).on('line', (line) => {
    const answer = answerIn(line)
    const waiter = waiting.get(answer?.id ?? -1)
    if (answer === null || waiter === undefined) return
    if (answer.error === undefined) waiter.resolve(answer.result)
    else fail(answer.error.message)
  })
  let last_id = 0
  const send = (message: object) => child.stdin.write(`${JSON.stringify(message)}\n`)
  const call: Call = (method, params) =>
    new Promise((resolve, reject) => {
      const id = ++last_id
      waiting.set(id, { resolve, reject })
      send({ id, method, params })
    })
  const timeout = clock.after(LIMITS.process_start_ms, () => fail('it did not answer in time'))
  try {
    const clientInfo = { name: 'turnbell', title: 'turnbell', version: VERSION }
    await call('initialize', { clientInfo, capabilities: { experimentalApi: true } })
    send({ method: 'initialized' })
    return await work(call)
  } finally {
    timeout.cancel()
    child.kill()
  }
}
