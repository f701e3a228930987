/**
 * `turnbell hook` the quick way. A client waits for its hooks, as often as at every tool it uses, so what is usual is
 * told without loading the command line, and without anything that needs zod, which takes half as long to load as
 * node does to start. Whatever is not usual goes the long way, which knows everything: `commands/hook.ts` says what a
 * hook does.
 */
import { LIMITS } from '../../contracts/limits.ts'
import { systemClock } from '../../system/clock.ts'
import { resolveHome, type Home } from '../../system/home.ts'
import { loadBundle } from '../../system/bundles.ts'
import { readAll } from '../read-all.ts'
import { hookPayload, HOOK_PATIENCE_MS, untold, type Untold } from './hook-call.ts'
import { hasUsualHub, quickHook, tellHub, Unanswered, type QuickHook } from './quick-hook.ts'
import { leave } from './spool.ts'

export async function main(argv: string[]): Promise<void> {
  const hook = quickHook(argv, process.env)
  const home = hook && resolveHome(process.env, hook.home)
  if (hook === null || home === null || !hasUsualHub(home)) return longWay(argv)
  // A client that goes away is nobody to tell.
  process.stdout.on('error', () => {})
  const events: Untold[] = []
  const late = new Promise<null>((resolve) => systemClock.after(HOOK_PATIENCE_MS, () => resolve(null)))
  const told = tell(hook, home, (event) => void events.push(event)).catch(() => null)
  const answer = await Promise.race([told, late])
  for (const event of events) await event.leaveIfUntold().catch(() => undefined)
  // Whatever still waits, a stdin that never ends or a hub that never answers, must not keep the client.
  process.stdout.write(`${JSON.stringify(answer ?? {})}\n`, () => process.exit(0))
}

async function tell(hook: QuickHook, home: Home, onRead: (event: Untold) => void) {
  const { event, client, identity } = hook
  const payload = hookPayload(await readAll(process.stdin, LIMITS.body_bytes_max))
  if (identity === null) return null
  const body = { ...payload, hook_event_name: event }
  const one = untold(async () => {
    // Loaded only where a line is left: node:crypto takes a twentieth of node's own start.
    const { createIds, systemRandom } = await import('../../system/random.ts')
    const cli = { ids: createIds(systemClock, systemRandom), clock: systemClock }
    leave({ cli, home }, { type: 'hook', client, identity, body })
  })
  onRead(one)
  try {
    return await tellHub(hook, home, payload, one.telling)
  } catch (error) {
    await (error instanceof Unanswered ? one.leaveIfUntold() : one.leave())
    return null
  }
}

async function longWay(argv: string[]): Promise<void> {
  await (await loadBundle(import.meta.dirname, 'cli')).main(['hook', ...argv])
}
