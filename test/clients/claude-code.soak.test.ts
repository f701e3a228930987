/**
 * Half a minute of concurrent signals, prompts, tools, interrupts, reloaded modules and killed processes with the real
 * Claude Code, chosen from one seed; `TURNBELL_SOAK_S=n` runs longer. In a terminal another plugin's module sometimes
 * blocks the thread that all modules share. No turn may see two doorbells and no signal may be lost; a signal is shown
 * twice only if it was drained twice, because a process was killed in between.
 *
 * The seed is printed; `TURNBELL_SEED=n` replays the choices, but not the client's timing.
 */
import { setTimeout as pass } from 'node:timers/promises'
import { afterEach, expect, test } from 'vitest'
import { openClaudeWorld, type ClaudeWorld } from '../support/clients/claude-world.ts'
import { PERSONA } from '../support/clients/client-world.ts'
import { copiedPlugins, type CopiedPlugins } from '../support/clients/copied-plugins.ts'
import { figuresOf, turnsOf } from '../support/clients/conversation.ts'
import { eventually } from '../support/eventually.ts'
import { seededRandom } from '../support/fakes/fake-clock.ts'

const DRAIN = 'mcp__plugin_turnbell_hub__signals_pending'
const MANUAL = ['--permission-mode', 'default', '--allowedTools', 'Bash']
const SECONDS = Number(process.env['TURNBELL_SOAK_S'] ?? 25)

const worlds: ClaudeWorld[] = []
afterEach(async (context) => {
  for (const world of worlds.splice(0)) {
    if (context.task.result?.state === 'fail')
      console.info(`${world.story()}\n${JSON.stringify(await world.status().catch(String))}`)
    await world.close()
  }
})

for (const kind of ['terminal', 'headless'] as const)
  test(
    `nothing is lost and no turn is rung twice, in a ${kind}`,
    {
      tags: kind === 'headless' ? ['extended'] : [],
    },
    async () => {
      const seed = Number(process.env['TURNBELL_SEED'] ?? Math.floor(Math.random() * 2 ** 31))
      console.info(`seed ${seed}`)
      const random = seededRandom(seed)
      const upTo = (count: number) => 1 + Math.floor(random.next() * count)
      const world = await openClaudeWorld()
      worlds.push(world)
      world.model.always(/work on it/, () => {
        const command = `for i in $(seq ${upTo(8)}); do sleep 0.1; done; echo ok`
        return { tools: [{ name: 'Bash', input: { command, description: 'some work' } }] }
      })
      world.model.always(/\(bell [0-9a-z]{8}\)/, { tools: [{ name: DRAIN, input: {} }] })

      let hub = await world.startHub()
      let daemon = await world.startDaemon()
      const modules = kind === 'terminal' ? copiedPlugins() : null
      const session = modules === null ? world.headless(MANUAL) : inTerminal(world, modules)
      await world.turnIs('idle')

      const sent: string[] = []
      const send = () => {
        const payload = `signal-${sent.length}`
        sent.push(payload)
        return world.send(payload)
      }
      const did: Record<string, number> = {}
      const steps: Record<string, () => Promise<unknown> | void> = {
        send: () => Promise.all(Array.from({ length: upTo(3) }, send)),
        prompt: () => session.say('work on it'),
        interrupt: () => session.interrupt(),
        'kill the worker': () => killWorker(world),
        'kill the daemon': async () => {
          await daemon.kill()
          daemon = await world.startDaemon()
        },
        'kill the hub': async () => {
          await hub.kill()
          hub = await world.startHub()
        },
        'reload the module': () => modules?.reload(),
        'another module blocks': () => modules?.block(session),
      }
      const shares = [0.55, 0.78, 0.85, 0.88, 0.92, 0.95, 0.985, 1]
      for (const end = performance.now() + SECONDS * 1_000; performance.now() < end;) {
        const roll = random.next()
        const name = Object.keys(steps)[shares.findIndex((share) => roll < share)]!
        did[name] = (did[name] ?? 0) + 1
        await steps[name]!()
        // Spaces out the actions; nothing is awaited here.
        await pass(50 + upTo(900))
      }

      // A restarted daemon rings its backlog at the agent's next turn, which has to begin after this.
      await eventually('the daemon is connected', async () => (await world.status()).connected, 30_000)
      await send()
      session.say('work on it')
      const missing = () => {
        const drained = new Set(turnsOf(world.model).flatMap((turn) => turn.drained))
        return sent.filter((payload) => !drained.has(payload))
      }
      await eventually(
        'every signal is shown',
        () => (missing().length === 0 ? true : Promise.reject(new Error(`missing ${missing().join(' ')}`))),
        60_000,
      )
      const turns = turnsOf(world.model)
      const handOuts = [...new Set(turns.flatMap((turn) => turn.handOuts))].map(
        (handOut) => handOut.split('#')[0],
      )
      const { ring_ms: _, ...figures } = figuresOf(world)
      console.info(
        JSON.stringify({
          kind,
          seed,
          did,
          sent: sent.length,
          again: handOuts.length - sent.length,
          ...figures,
        }),
      )
      expect(turns.filter((turn) => turn.bells.length > 1)).toEqual([])
      const { via } = (await world.status()).surface
      console.info(`reached by ${via}`)
      const lifted = (did['kill the worker'] ?? 0) + (did['kill the hub'] ?? 0) + (did['interrupt'] ?? 0)
      if (lifted === 0) expect(handOuts.length).toBe(sent.length)
    },
  )

function inTerminal(world: ClaudeWorld, { program, neighbour }: CopiedPlugins) {
  const argv = [process.execPath, program, 'run', '--persona', PERSONA, '--', ...MANUAL]
  const terminal = world.terminalOf([...argv, '--plugin-dir', neighbour])
  return {
    say: (text: string) => {
      terminal.type(text)
      terminal.press('Enter')
    },
    interrupt: () => terminal.press('Escape'),
  }
}

function killWorker(world: ClaudeWorld): void {
  try {
    process.kill(world.workerLog().at(-1)!.pid, 'SIGKILL')
  } catch {
    // Killed a moment ago and not restarted yet.
  }
}
