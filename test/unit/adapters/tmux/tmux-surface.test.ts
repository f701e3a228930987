/** When keys are sent to a pane, and when not. */
import { afterEach, describe, expect, test } from 'vitest'
import { tmuxSurface, type TmuxSurface } from '../../../../adapters/tmux/tmux-surface.ts'
import type { RingResult } from '../../../../src/contracts/control.ts'
import { LIMITS } from '../../../../src/contracts/limits/limits.ts'
import { silentLog } from '../../../../src/ports/log.ts'
import { recordingHost } from '../../../suites/surface.suite.ts'
import { doorbell } from '../../../support/doorbells.ts'
import { atRest, fakeClock, type FakeClock } from '../../../support/fakes/fake-clock.ts'
import { fakePane, type FakePane } from '../../../support/fakes/fake-pane.ts'

const DEFERRED = { accepted: false, proof: 'deferred' }
const FAILED = { accepted: false, proof: 'failed' }
const UNAVAILABLE = { accepted: false, proof: 'unavailable' }

const open: TmuxSurface[] = []
afterEach(() => open.splice(0).forEach((surface) => surface.close()))

interface World {
  place: FakePane
  surface: TmuxSurface
  clock: FakeClock
  host: ReturnType<typeof recordingHost>
  ring: (bell?: ReturnType<typeof doorbell>, other?: TmuxSurface) => Promise<RingResult>
  /** Advances until the change has been read. */
  passes: (ms?: number) => Promise<void>
  turn: () => Promise<string>
}

async function world(change: Partial<FakePane> = {}): Promise<World> {
  const clock = fakeClock()
  const place = Object.assign(fakePane(clock), change)
  const host = recordingHost()
  const surface = tmuxSurface({ pane: place.pane, clock, log: silentLog })
  open.push(surface)
  surface.open(host)
  await atRest()
  const passes = (ms: number = 2 * LIMITS.tmux_quiet_look_ms) => clock.advance(ms)
  await passes()
  return {
    ...{ place, surface, clock, host, passes },
    turn: async () => (await surface.status()).turn,
    async ring(bell = doorbell(), other = surface) {
      let answer: RingResult | null = null
      void other.notify_surface(bell).then((result) => (answer = result))
      await atRest()
      for (let waited = 0; answer === null && waited < LIMITS.shim_answer_ms; waited += 50)
        await clock.advance(50)
      if (answer === null) throw new Error('a ring was not answered in time')
      return answer
    },
  }
}

describe('a doorbell in a tmux pane', () => {
  test('a doorbell is pasted, read back and entered once', async () => {
    const { place, ring, host, surface } = await world()
    const bell = doorbell()
    expect(await ring(bell)).toMatchObject({ accepted: true })
    expect(place.entered).toEqual([bell.text])
    const { seen_doorbell_id, turn } = await surface.status()
    expect({ seen_doorbell_id, turn }).toEqual({ seen_doorbell_id: bell.doorbell_id, turn: 'busy' })
    expect(host.reports.at(-1)?.seen_doorbell_id).toBe(bell.doorbell_id)
  })

  test.each<[string, Partial<FakePane>]>([
    ['a draft is shown', { draft: 'a thought' }],
    ['a turn runs', { busy: true }],
    ['a dialog is open', { dialog: ' ❯ 1. Yes   Enter to confirm' }],
    ['a person scrolls', { in_mode: true }],
    ['the screen is not recognized', { dialog: 'ada@host:~$' }],
  ])('a doorbell is not typed while %s', async (_, change) => {
    const { place, ring } = await world(change)
    expect(await ring()).toEqual(DEFERRED)
    expect({ ...place, entered: place.entered, astray: place.astray }).toMatchObject({
      ...change,
      entered: [],
      astray: [],
    })
  })

  test('a doorbell is not typed into another program', async () => {
    const { place, ring, turn } = await world({ client: null })
    expect(await ring()).toEqual(UNAVAILABLE)
    expect(place.draft).toBe('')
    expect(await turn()).toBe('unknown')
  })

  // Hints change above an untouched composer.
  test('a doorbell is entered when the screen is stable', async () => {
    const { place, ring, clock } = await world()
    const answer = ring()
    await atRest()
    place.transcript.push('a hint')
    await clock.advance(LIMITS.tmux_settle_ms)
    expect(place.draft).toBe('')
    expect(await answer).toMatchObject({ accepted: true })
  })

  test('a doorbell is not typed if the prompt disappeared between two readings', async () => {
    const { place, ring } = await world()
    place.beforeTyping = () => expect.unreachable('nothing may be typed')
    const answer = ring()
    await atRest()
    place.draft = 'I was faster'
    expect(await answer).toEqual(DEFERRED)
    expect(place.draft).toBe('I was faster')
  })

  test('a doorbell is not pasted if a person types at that moment', async () => {
    const { place, ring } = await world()
    place.beforeTyping = () => (place.draft = 'I was faster')
    expect(await ring()).toEqual(DEFERRED)
    expect(place.draft).toBe('I was faster')
  })

  // Otherwise the person's text and the doorbell would be sent together.
  test.each([
    ['after', (bell: string) => `${bell} and one more thing`],
    ['before', (bell: string) => `oh, ${bell}`],
  ])('a doorbell is not entered if a person typed text %s it, and both texts stay', async (_, mixed) => {
    const { place, ring, turn, passes } = await world()
    place.pasted = () => (place.draft = mixed(place.draft))
    const bell = doorbell()
    expect(await ring(bell)).toEqual(FAILED)
    expect(place.entered).toEqual([])
    expect(place.draft).toBe(mixed(bell.text))
    await passes()
    expect(await turn()).toBe('unknown')
    expect(await ring()).toEqual(DEFERRED)
  })

  // Enter would answer the dialog. tmux checks in the same step that the screen is unchanged.
  test('a doorbell is not entered if a dialog opens at that moment', async () => {
    const { place, ring } = await world()
    place.beforeTyping = (what) => {
      if (what === 'enter') place.dialog = 'Do you want to proceed?  Enter to confirm'
    }
    expect(await ring()).toEqual(DEFERRED)
    expect(place.astray).toEqual([])
    expect(place.entered).toEqual([])
  })

  test('a doorbell left in the composer is entered by the next ring, and no second one is pasted', async () => {
    const { place, ring, passes } = await world()
    place.beforeTyping = (what) => {
      if (what === 'enter') place.dialog = 'Do you want to proceed?  Enter to confirm'
    }
    const first = doorbell()
    await ring(first)
    place.beforeTyping = () => {}
    place.dialog = null
    await passes()
    const second = doorbell()
    expect(await ring(second)).toMatchObject({ accepted: true })
    expect(place.entered).toEqual([first.text])
  })

  test('a doorbell left by an earlier shim is entered by the next one, and not pasted again', async () => {
    const { place, ring, surface, clock, passes } = await world()
    place.beforeTyping = (what) => {
      if (what === 'enter') place.dialog = 'Do you want to proceed?  Enter to confirm'
    }
    const first = doorbell({ pending_count: 12, from: 'svc:ci/main', intent: 'build.failed' })
    expect(await ring(first)).toEqual(DEFERRED)
    surface.close()
    place.beforeTyping = () => {}
    place.dialog = null
    const next = tmuxSurface({ pane: place.pane, clock, log: silentLog })
    open.push(next)
    next.open(recordingHost())
    await atRest()
    await passes()
    expect((await next.status()).turn).toBe('idle')
    place.pasted = () => expect.unreachable('a second one may not be pasted')
    const second = doorbell()
    expect(await ring(second, next)).toMatchObject({ accepted: true })
    expect(place.entered).toEqual([first.text])
    expect((await next.status()).seen_doorbell_id).toBe(second.doorbell_id)
  })

  test.each([
    ['two of them', (bell: string) => `${bell}${bell}`],
    ['one with a word after it', (bell: string) => `${bell} and`],
    ['one with a word before it', (bell: string) => `and ${bell}`],
    ['one with a word inside', (bell: string) => bell.replace('once', 'twice')],
    ['the beginning of one', (bell: string) => bell.slice(0, -4)],
  ])('a composer with %s is left alone', async (_, mixed) => {
    const draft = mixed(doorbell().text)
    const { place, ring, turn } = await world({ draft })
    expect(await turn()).toBe('unknown')
    expect(await ring()).toEqual(DEFERRED)
    expect(place).toMatchObject({ draft, entered: [] })
  })

  // A pane closes, and another one takes its position between two readings.
  test('a doorbell is not typed if the last reading was of another pane', async () => {
    const { place, ring } = await world()
    place.beforeTyping = () => expect.unreachable('nothing may be typed')
    const real = { ...place.pane }
    place.pane.look = async () => {
      const look = await real.look()
      place.pane_id = place.pane_id === '%0' ? '%1' : '%0'
      return look
    }
    expect(await ring()).toEqual(DEFERRED)
    expect(place).toMatchObject({ draft: '', entered: [] })
  })

  // tmux typed it and answered too late.
  test.each([
    ['the same bell', (bell: ReturnType<typeof doorbell>) => bell],
    ['the next one', () => doorbell()],
  ])(
    'a doorbell that was pasted without an answer of tmux is entered by %s, and not pasted again',
    async (_, next) => {
      const { place, ring, passes } = await world()
      place.pasted = () => {
        throw new Error('tmux gave no answer')
      }
      const bell = doorbell()
      expect(await ring(bell)).toEqual(FAILED)
      place.pasted = () => expect.unreachable('a second one may not be pasted')
      await passes()
      expect(await ring(next(bell))).toMatchObject({ accepted: true })
      expect(place.entered).toEqual([bell.text])
    },
  )

  // On a slow client a second Enter would send it twice.
  test('a doorbell that leaves the composer late counts as sent, and its turn is the receipt', async () => {
    const { place, ring, passes, surface } = await world()
    place.pane.enter = async () => true
    const bell = doorbell()
    const { turn_seq } = await surface.status()
    expect(await ring(bell)).toEqual({ accepted: true, proof: 'sent' })
    expect(await surface.status()).toMatchObject({ turn: 'idle', turn_seq })
    Object.assign(place, { draft: '', busy: true, transcript: [bell.text] })
    await passes()
    const status = { turn: 'busy', turn_seq: turn_seq + 1, seen_doorbell_id: bell.doorbell_id }
    expect(await surface.status()).toMatchObject(status)
  })

  test('a doorbell is outstanding while nothing follows it in the conversation, without a time limit', async () => {
    const { place, ring, passes, surface } = await world({ begins_late: true })
    const bell = doorbell()
    const { turn_seq } = await surface.status()
    await ring(bell)
    await passes(5 * 60_000)
    const shown = { turn: 'busy', turn_seq: turn_seq + 1, seen_doorbell_id: bell.doorbell_id }
    expect(await surface.status()).toMatchObject(shown)
    expect(await ring()).toEqual(DEFERRED)
    place.transcript.push('● Done.')
    await passes()
    expect(await surface.status()).toMatchObject({ ...shown, turn: 'idle' })
  })

  test('a doorbell is outstanding if the client accepted it and does not show it yet', async () => {
    const { place, ring, passes, surface } = await world({ begins_late: true })
    const bell = doorbell()
    place.pane.enter = async () => {
      place.draft = ''
      return true
    }
    expect(await ring(bell)).toEqual({ accepted: true, proof: 'sent' })
    const outstanding = { outstanding_doorbell_id: bell.doorbell_id }
    for (let waited = 0; waited < 45_000; waited += LIMITS.tmux_begin_ms) {
      await passes(LIMITS.tmux_begin_ms)
      expect(await surface.status()).toMatchObject(outstanding)
      expect(await ring()).toEqual(DEFERRED)
    }
    place.transcript.push(`❯ ${bell.text}`)
    place.busy = true
    await passes()
    const status = await surface.status()
    expect(status).toMatchObject({ turn: 'busy', seen_doorbell_id: bell.doorbell_id })
    expect(status).not.toHaveProperty('outstanding_doorbell_id')
  })

  test('a doorbell is not outstanding after a long time at the prompt without a trace of it', async () => {
    const { place, ring, passes, surface } = await world({ begins_late: true })
    place.pane.enter = async () => {
      place.draft = ''
      return true
    }
    await ring()
    await passes(LIMITS.tmux_bell_lost_ms + LIMITS.tmux_begin_ms)
    const status = await surface.status()
    expect(status).toMatchObject({ turn: 'idle' })
    expect(status).not.toHaveProperty('outstanding_doorbell_id')
  })

  test.each<[string, (place: FakePane) => void, (place: FakePane) => void]>([
    [
      'a dialog',
      (place) => (place.dialog = ' ❯ 1. Yes   Enter to confirm'),
      (place) => (place.dialog = null),
    ],
    ['a pane that was not shown', (place) => (place.mode = 'breaks'), (place) => (place.mode = 'takes')],
  ])('a doorbell is outstanding for the limit at the prompt after %s', async (_, hides, shows) => {
    const { place, ring, passes, surface } = await world({ begins_late: true })
    place.pane.enter = async () => {
      place.draft = ''
      return true
    }
    const bell = doorbell()
    await ring(bell)
    hides(place)
    await passes(2 * LIMITS.tmux_bell_lost_ms)
    shows(place)
    await passes(LIMITS.tmux_bell_lost_ms - LIMITS.tmux_quiet_look_ms)
    expect(await surface.status()).toMatchObject({ outstanding_doorbell_id: bell.doorbell_id })
    expect(await ring()).toEqual(DEFERRED)
    await passes(LIMITS.tmux_begin_ms)
    const status = await surface.status()
    expect(status).toMatchObject({ turn: 'idle' })
    expect(status).not.toHaveProperty('outstanding_doorbell_id')
  })

  test('a doorbell is outstanding while it is in the composer after Enter', async () => {
    const { place, ring, passes, surface } = await world()
    place.pane.enter = async () => true
    const bell = doorbell()
    await ring(bell)
    await passes(30_000)
    expect(await surface.status()).toMatchObject({ outstanding_doorbell_id: bell.doorbell_id })
  })

  test('a doorbell is still outstanding after a failed reading', async () => {
    const { place, ring, passes, surface } = await world({ begins_late: true })
    place.pane.enter = async () => {
      place.draft = ''
      return true
    }
    const bell = doorbell()
    await ring(bell)
    place.mode = 'breaks'
    await passes()
    const outstanding = { turn: 'unknown', outstanding_doorbell_id: bell.doorbell_id }
    expect(await surface.status()).toMatchObject(outstanding)
    place.mode = 'takes'
    await passes()
    expect(await surface.status()).toMatchObject(outstanding)
  })

  test('a doorbell is not outstanding if the client is gone', async () => {
    const { place, ring, passes, surface } = await world({ begins_late: true })
    place.pane.enter = async () => {
      place.draft = ''
      return true
    }
    await ring()
    place.mode = 'gone'
    await passes()
    expect(await surface.status()).not.toHaveProperty('outstanding_doorbell_id')
  })

  test('a doorbell that never reaches the composer has failed', async () => {
    const { ring } = await world({ mode: 'swallows' })
    expect(await ring()).toEqual(FAILED)
  })

  test.each([
    '[turnbell] two\nlines (bell 0a1b2c3d)',
    '/clear',
    '!rm x',
    '[turnbell] \u001b[31mred (bell 0a1b2c3d)',
  ])('a doorbell that is not one plain line is rejected: %j', async (text) => {
    const { place, ring } = await world()
    expect(await ring({ ...doorbell(), text })).toEqual(FAILED)
    expect(place).toMatchObject({ draft: '', entered: [] })
  })

  // The daemon has given up the ring by that time and may have sent the next one.
  test('a doorbell is not typed late on a slow tmux', async () => {
    const { place, ring, clock } = await world()
    const look = () => place.pane.look()
    const slow = tmuxSurface({
      pane: {
        ...place.pane,
        look: async () => {
          await new Promise<void>((resolve) => void clock.after(1_300, resolve))
          return look()
        },
      },
      clock,
      log: silentLog,
    })
    open.push(slow)
    slow.open(recordingHost())
    await atRest()
    await clock.advance(10_000)
    expect((await slow.status()).turn).toBe('idle')
    expect(await ring(doorbell(), slow)).toEqual(DEFERRED)
    expect(place).toMatchObject({ draft: '', entered: [] })
  })

  test('a doorbell is deferred during another ring', async () => {
    const { place, ring, surface } = await world({ mode: 'delays' })
    const first = ring()
    expect(await surface.notify_surface(doorbell())).toEqual(DEFERRED)
    expect(await first).toMatchObject({ accepted: true })
    expect(place.entered).toHaveLength(1)
  })
})

describe('a turn in a tmux pane', () => {
  test('a turn continues through a dialog and ends at the prompt', async () => {
    const { place, passes, turn, surface } = await world()
    const { turn_seq } = await surface.status()
    place.busy = true
    await passes()
    place.dialog = 'Do you want to proceed?  Enter to confirm'
    await passes()
    expect(await turn()).toBe('busy')
    place.dialog = null
    await passes()
    place.busy = false
    await passes()
    expect(await surface.status()).toMatchObject({ turn: 'idle', turn_seq: turn_seq + 1 })
  })

  test('a turn does not begin with a draft or a list', async () => {
    const { place, passes, turn, surface } = await world()
    const { turn_seq } = await surface.status()
    place.draft = 'a thought'
    await passes()
    expect(await turn()).toBe('unknown')
    place.draft = ''
    place.dialog = 'Select model   Enter to save'
    await passes()
    expect(await turn()).toBe('unknown')
    place.dialog = null
    await passes()
    expect(await surface.status()).toMatchObject({ turn: 'idle', turn_seq })
  })

  // Between Enter and the first sign of the turn the screen looks idle.
  test('a turn that a doorbell began does not end before it could be shown', async () => {
    const { place, ring, passes, turn } = await world()
    place.begins_late = true
    await ring()
    place.transcript.push('● Done.')
    await passes(LIMITS.tmux_begin_ms - 500)
    expect(await turn()).toBe('busy')
    await passes()
    expect(await turn()).toBe('idle')
  })

  test('a turn that a person interrupted is reported as interrupted until they send something', async () => {
    const { place, passes, surface } = await world({ busy: true })
    await passes()
    place.transcript.push('❯ use your tool', '  ⎿  Interrupted · What should Claude do instead?')
    expect(await surface.status()).not.toHaveProperty('interrupted')
    place.busy = false
    await passes()
    expect(await surface.status()).toMatchObject({ turn: 'idle', interrupted: true })
    place.draft = 'a thought'
    await passes()
    expect(await surface.status()).toMatchObject({ turn: 'unknown', interrupted: true })
    Object.assign(place, { draft: '', busy: true })
    place.transcript.push('❯ a thought', '● Done.')
    await passes()
    place.busy = false
    await passes()
    expect(await surface.status()).toMatchObject({ turn: 'idle' })
    expect(await surface.status()).not.toHaveProperty('interrupted')
  })

  // Codex shows no sign of a turn while its answer arrives, and a long answer fills the screen.
  test('a turn of Codex is not over while a screen full of its answer is unchanged', async () => {
    const answer = Array.from({ length: 40 }, () => '  more text')
    const { place, passes, ring, turn } = await world({ client: 'codex', busy: true, transcript: answer })
    place.busy = false
    await passes(LIMITS.tmux_quiet_look_ms)
    expect(await turn()).toBe('busy')
    expect(await ring()).toEqual(DEFERRED)
    expect(place).toMatchObject({ draft: '', entered: [] })
    await passes(LIMITS.tmux_unproven_ms)
    expect(await turn()).toBe('idle')
  })

  test('a turn is unknown while the pane is gone, and known again when it is back', async () => {
    const { place, passes, turn } = await world()
    place.mode = 'gone'
    await passes()
    expect(await turn()).toBe('unknown')
    place.mode = 'takes'
    await passes()
    expect(await turn()).toBe('idle')
  })
})

describe('the client of a pane', () => {
  // `sh run.sh`: tmux reports the same program before and after.
  test('the client of a pane is detected again after a client inside a script has exited', async () => {
    const { place, passes, surface } = await world({ command: 'sh' })
    expect((await surface.status()).absent).toBeUndefined()
    Object.assign(place, { client: null, dialog: 'it ended with 0; again? ' })
    await passes(5_000)
    expect(await surface.status()).toMatchObject({ turn: 'unknown', absent: true })
  })

  test('the client of a pane is not detected again while it shows its prompt', async () => {
    const { place, passes } = await world()
    place.pane.client = () => expect.unreachable('it was asked already')
    await passes(60_000)
  })

  test('the client of a pane is detected again by resume_surface', async () => {
    const { place, surface } = await world()
    expect(place.forgotten).toBe(0)
    place.client = null
    await surface.resume_surface()
    expect(place.forgotten).toBe(1)
    expect((await surface.status()).absent).toBe(true)
    place.client = 'claude-code'
    await surface.resume_surface()
    expect((await surface.status()).absent).toBeUndefined()
  })
})

test('readings of a pane are serialized, also those of resume_surface', async () => {
  const { place, surface, passes } = await world()
  const real = { ...place.pane }
  const now = { looking: 0, most: 0 }
  place.pane.look = async () => {
    now.most = Math.max(now.most, (now.looking += 1))
    await atRest()
    return real.look().finally(() => (now.looking -= 1))
  }
  await Promise.all([surface.resume_surface(), passes(), surface.resume_surface()])
  expect(now).toEqual({ looking: 0, most: 1 })
})

test('a failed reading is logged once for each reason, and again after a successful one', async () => {
  const clock = fakeClock()
  const place = fakePane(clock)
  const warned: string[] = []
  const log = {
    ...silentLog,
    warn: (fields: object) => void warned.push(String((fields as { err: Error }).err)),
  }
  const surface = tmuxSurface({ pane: place.pane, clock, log })
  open.push(surface)
  surface.open(recordingHost())
  const looks = () => clock.advance(3 * LIMITS.tmux_quiet_look_ms)
  await looks()
  const broken = 'Error: tmux gave no answer'
  place.mode = 'breaks'
  await looks()
  expect(warned).toEqual([broken])
  place.mode = 'takes'
  await looks()
  place.mode = 'breaks'
  await looks()
  expect(warned).toEqual([broken, broken])
})
