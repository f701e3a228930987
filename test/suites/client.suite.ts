/**
 * Behaviours of every real client in every mode, checked from the content shown to the model: one doorbell per turn,
 * and every signal drained once.
 */
import { describe, expect, test } from 'vitest'
import { expectOneBellPerTurn, turnsOf } from '../support/clients/conversation.ts'
import { eventually } from '../support/eventually.ts'
import type { Scene } from '../support/clients/scene.ts'
import type { SessionId } from '../../src/contracts/ids.ts'

/** A user of the client. */
export interface Session {
  /** Begins a turn. */
  say(text: string): Promise<unknown> | void
}

/** The behaviours that the scenes of the suite check. */
export type Behaviour =
  | 'one bell for one signal'
  | 'one bell for five signals'
  | 'no bell while a tool runs'
  | 'no bell in an interrupted turn'
  | 'a new session'
  | 'a killed client'
  | 'a client killed in its turn'
  | 'a killed daemon'
  | 'a daemon killed in a turn'
  | 'a killed hub'

/**
 * 'one bell for one signal' is part of most others. 'a client killed in its turn' depends on the hub; only Claude Code
 * always runs it, because its worker confirms drains itself.
 */
const ALWAYS: readonly Behaviour[] = [
  'one bell for five signals',
  'no bell while a tool runs',
  'no bell in an interrupted turn',
  'a new session',
  'a killed client',
  'a killed daemon',
  'a daemon killed in a turn',
  'a killed hub',
]

export interface ClientUnderTest<S extends Scene, Person extends Session> {
  open: () => Promise<S>
  /** Resolves when the client is at its prompt and the daemon knows it. */
  begin: (scene: S) => Promise<Person>
  /** Interrupts the running turn. */
  interrupt?: (scene: S, session: Person) => Promise<unknown> | void
  /** Whether no doorbell is sent after an interrupt until the user's next turn has ended. */
  rests_after_interrupt?: boolean
  /** Leaves the session for a new one. */
  reset?: (scene: S, session: Person) => Promise<unknown> | void
  /** Ends the client's process by SIGKILL. */
  kill?: (scene: S, session: Person) => Promise<unknown> | void
  /** Whether the agent runs in the client's own process, so that `kill` ends its turn. */
  dies_with_its_client?: boolean
  /** Whether the agent continues its turn when its daemon is killed. */
  outlives_its_daemon?: boolean
  /** The user resumes the session of a killed client. If omitted, the daemon resumes it. */
  resume?: (scene: S, session_id: SessionId) => Promise<unknown>
  /** Whether the client has no input for a user: each prompt is a signal, which causes a doorbell. */
  says_by_signal?: boolean
  /** Whether a session exists only after the first prompt, so that `begin` costs a turn. */
  begins_by_turn?: boolean
  /**
   * Behaviours whose scenes always run; the others run with `--all`. The default is nearly all. A second mode of the
   * same client lists those in which it differs from the first.
   */
  always?: readonly Behaviour[]
  /** Additional behaviours whose scenes always run. */
  also?: readonly Behaviour[]
}

/** `tags` apply to all tests of this client: `extended` for one that repeats another mode of the same client. */
export function describeClient<S extends Scene, Person extends Session>(
  name: string,
  client: ClientUnderTest<S, Person>,
  { tags = [] }: { tags?: string[] } = {},
): void {
  const { open, begin, says_by_signal = false, begins_by_turn = false } = client
  const {
    interrupt,
    rests_after_interrupt = false,
    reset,
    kill,
    resume,
    dies_with_its_client = false,
    outlives_its_daemon = false,
    always = ALWAYS,
    also = [],
  } = client
  const begun = begins_by_turn ? [0] : []
  const spoken = (...texts: string[]) => (says_by_signal ? texts : [])

  const shows = (behaviour: Behaviour, sentence: string, run: () => Promise<void>) =>
    test(sentence, { tags: [...always, ...also].includes(behaviour) ? [] : ['extended'] }, run)

  describe(`${name}, like every client,`, { tags }, () => {
    shows('one bell for one signal', 'is rung once for one signal while idle', async () => {
      const scene = await open()
      await begin(scene)
      await scene.settled([await scene.send('one')])
      const turns = expectOneBellPerTurn(scene.model, ['one'])
      expect(turns.map((turn) => turn.bells.length)).toEqual([...begun, 1])
    })

    shows('one bell for five signals', 'is rung once for five signals at once while idle', async () => {
      const scene = await open()
      await begin(scene)
      const payloads = ['1', '2', '3', '4', '5']
      await scene.settled(await Promise.all(payloads.map((payload) => scene.send(payload))))
      expectOneBellPerTurn(scene.model, payloads)
    })

    shows(
      'no bell while a tool runs',
      'is not rung while a tool runs, and once at the end of its turn for three signals',
      async () => {
        const scene = await open()
        const session = await begin(scene)
        const tool = await inItsTool(scene, session)
        const before = scene.bells()
        const sent = await Promise.all(['1', '2', '3'].map((payload) => scene.send(payload)))
        await scene.knows(3)
        expect(scene.bells()).toEqual(before)
        tool.end()
        await scene.settled(sent)
        const turns = expectOneBellPerTurn(scene.model, ['1', '2', '3', ...spoken('use your tool')])
        expect(turns.map((turn) => turn.bells.length)).toEqual([...begun, before.length, 1])
      },
    )

    if (interrupt)
      shows(
        'no bell in an interrupted turn',
        'is not rung in a turn that is interrupted, and once after it',
        async () => {
          const scene = await open()
          const session = await begin(scene)
          await inItsTool(scene, session)
          const before = scene.bells()
          const sent = await scene.send('one')
          await scene.knows(1)
          await interrupt(scene, session)
          if (rests_after_interrupt) {
            await scene.turnIs('idle')
            expect(scene.bells()).toEqual(before)
            await session.say('go on')
          }
          await scene.settled([sent])
          const turns = expectOneBellPerTurn(scene.model, ['one', ...spoken('use your tool')])
          expect(turns.at(-1)?.bells).toHaveLength(1)
        },
      )

    if (reset)
      shows('a new session', 'is rung in the session that its user began anew', async () => {
        const scene = await open()
        const session = await begin(scene)
        await scene.settled([await scene.send('before')])
        const before = await sessionOf(scene)
        await reset(scene, session)
        await eventually('the daemon knows the new session', async () => {
          const now = await sessionOf(scene)
          return now !== null && now !== before
        })
        await scene.turnIs('idle')
        await scene.settled([await scene.send('after')])
        expectOneBellPerTurn(scene.model, ['before', 'after'])
      })

    if (kill)
      shows(
        'a killed client',
        'goes on with its session after it was killed, and takes what it missed',
        async () => {
          const scene = await open()
          const session = await begin(scene)
          await scene.settled([await scene.send('before')])
          const before = await sessionOf(scene)
          await kill(scene, session)
          const missed = await scene.send('missed')
          await resume?.(scene, before!)
          await scene.settled([missed])
          await scene.settled([await scene.send('after')])
          expect(await sessionOf(scene)).toBe(before)
          expectOneBellPerTurn(scene.model, ['before', 'missed', 'after'])
        },
      )

    if (kill && dies_with_its_client)
      shows(
        'a client killed in its turn',
        'is handed a signal again that it had drained in a turn in which it was killed',
        async () => {
          const scene = await open()
          const session = await begin(scene)
          await scene.settled([await scene.send('before')])
          const before = await sessionOf(scene)
          const tool = scene.longTool()
          scene.model.next(/take this in hand/, tool.reply)
          const sent = await scene.send('take this in hand')
          await scene.asked(/take this in hand/)
          await eventually('its tool runs', () => turnsOf(scene.model).at(-1)?.drained.length === 1)
          expect(await scene.read(sent)).toMatchObject({
            ...{ status: 'acked', deliveries: 1 },
            stages: { confirmed_at: null },
          })
          await kill(scene, session)
          await eventually(
            'it waits again',
            async () =>
              (await scene.read(sent)).deliveries === 1 && (await scene.read(sent)).status !== 'acked',
          )
          tool.end()
          await resume?.(scene, before!)
          await scene.settled([sent])
          expect(await scene.read(sent)).toMatchObject({ deliveries: 2 })
          const handed = turnsOf(scene.model).flatMap(({ handOuts }) => handOuts)
          expect(handed).toEqual(['before#1', 'take this in hand#1', 'take this in hand#2'])
        },
      )

    shows('a killed daemon', 'keeps its doorbells when its daemon is killed and comes back', async () => {
      const scene = await open()
      await begin(scene)
      await scene.settled([await scene.send('before')])
      await scene.daemon.kill()
      const missed = await scene.send('while the daemon was away')
      await scene.startDaemon()
      await scene.turnIs('idle')
      await scene.connected()
      const pushed = await scene.send('after it came back')
      await scene.settled([missed, pushed])
      expectOneBellPerTurn(scene.model, ['before', 'while the daemon was away', 'after it came back'])
    })

    if (outlives_its_daemon)
      shows(
        'a daemon killed in a turn',
        'keeps what it drained when its daemon is killed in its turn, and is rung after it',
        async () => {
          const scene = await open()
          await begin(scene)
          await scene.settled([await scene.send('before')])
          const tool = scene.longTool()
          scene.model.next(/take this in hand/, tool.reply)
          const held = await scene.send('take this in hand')
          await scene.asked(/take this in hand/)
          await scene.daemon.kill()
          await scene.startDaemon()
          await scene.connected()
          await scene.turnIs('busy')
          const next = await scene.send('after it came back')
          await scene.knows(1)
          tool.end()
          await scene.settled([held, next])
          expect(await scene.read(held)).toMatchObject({ deliveries: 1 })
          expectOneBellPerTurn(scene.model, ['before', 'take this in hand', 'after it came back'])
        },
      )

    shows('a killed hub', 'drains through a hub that is killed and comes back', async () => {
      const scene = await open()
      const session = await begin(scene)
      await scene.settled([await scene.send('before')])
      await scene.hub.kill()
      if (!says_by_signal) {
        scene.model.next(/look by yourself/, scene.drain)
        await session.say('look by yourself')
        await scene.asked(/look by yourself/)
      }
      await scene.startHub()
      if (!says_by_signal) await callAnswered(scene)
      await scene.turnIs('idle')
      await scene.connected()
      await scene.settled([await scene.send('after')])
      expectOneBellPerTurn(scene.model, ['before', 'after'])
    })
  })
}

/** Starts a turn of the user and waits until it is in a tool call. */
async function inItsTool(scene: Scene, session: Session) {
  const tool = scene.longTool()
  scene.model.next(/use your tool/, tool.reply)
  await session.say('use your tool')
  await scene.asked(/use your tool/)
  await scene.turnIs('busy')
  return tool
}

const sessionOf = async (scene: Scene) => (await scene.status()).surface.session_id

const callAnswered = (scene: Scene) =>
  eventually('the call was answered', () => turnsOf(scene.model).at(-1)?.requests.at(-1)?.tool_results[0])
