/** When a pane is typed into, and above all when it is not. */
import { afterEach, describe, expect, test } from 'vitest'
import { tmuxSurface, type TmuxSurface } from '../../../adapters/tmux/tmux-surface.ts'
import type { RingResult } from '../../../src/contracts/control.ts'
import { LIMITS } from '../../../src/contracts/limits.ts'
import { silentLog } from '../../../src/ports/log.ts'
import { recordingHost } from '../../suites/surface.suite.ts'
import { doorbell } from '../../support/doorbells.ts'
import { atRest, fakeClock, type FakeClock } from '../../support/fake-clock.ts'
import { fakePane, type FakePane } from '../../support/fake-pane.ts'

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
  /** As long as it takes to be noticed. */
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

describe('a bell in a tmux pane', () => {
  test('is pasted, read back and entered once', async () => {
    const { place, ring, host, surface } = await world()
    const bell = doorbell()
    expect(await ring(bell)).toMatchObject({ accepted: true })
    expect(place.entered).toEqual([bell.text])
    const { seen_doorbell_id, turn } = await surface.status()
    expect({ seen_doorbell_id, turn }).toEqual({ seen_doorbell_id: bell.doorbell_id, turn: 'busy' })
    expect(host.reports.at(-1)?.seen_doorbell_id).toBe(bell.doorbell_id)
  })

  test.each<[string, Partial<FakePane>]>([
    ['a draft stands', { draft: 'a thought' }],
    ['a turn runs', { busy: true }],
    ['a dialog is open', { dialog: ' ❯ 1. Yes   Enter to confirm' }],
    ['a person scrolls', { in_mode: true }],
    ['the screen is strange', { dialog: 'ada@host:~$' }],
  ])('waits while %s, and nothing is typed', async (_, change) => {
    const { place, ring } = await world(change)
    expect(await ring()).toEqual(DEFERRED)
    expect({ ...place, entered: place.entered, astray: place.astray }).toMatchObject({
      ...change,
      entered: [],
      astray: [],
    })
  })

  test('is not typed into another program', async () => {
    const { place, ring, turn } = await world({ client: null })
    expect(await ring()).toEqual(UNAVAILABLE)
    expect(place.draft).toBe('')
    expect(await turn()).toBe('unknown')
  })

  // Hints come and go above a composer that nobody touches.
  test('is entered once the screen has come to rest', async () => {
    const { place, ring, clock } = await world()
    const answer = ring()
    await atRest()
    place.transcript.push('a hint')
    await clock.advance(LIMITS.tmux_settle_ms)
    expect(place.draft).toBe('')
    expect(await answer).toMatchObject({ accepted: true })
  })

  test('waits when the prompt was left between two looks', async () => {
    const { place, ring } = await world()
    place.beforeTyping = () => expect.unreachable('nothing may be typed')
    const answer = ring()
    await atRest()
    place.draft = 'I was faster'
    expect(await answer).toEqual(DEFERRED)
    expect(place.draft).toBe('I was faster')
  })

  test('is not pasted when a person types just then', async () => {
    const { place, ring } = await world()
    place.beforeTyping = () => (place.draft = 'I was faster')
    expect(await ring()).toEqual(DEFERRED)
    expect(place.draft).toBe('I was faster')
  })

  // The person's own words and ours would be sent as one.
  test.each([
    ['behind', (bell: string) => `${bell} and one more thing`],
    ['before', (bell: string) => `oh, ${bell}`],
  ])('is not entered when a person typed %s it, and both stay', async (_, mixed) => {
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

  // Enter would answer the dialog. tmux sees in the same step that the screen is another one.
  test('is not entered when a dialog opens just then', async () => {
    const { place, ring } = await world()
    place.beforeTyping = (what) => {
      if (what === 'enter') place.dialog = 'Do you want to proceed?  Enter to confirm'
    }
    expect(await ring()).toEqual(DEFERRED)
    expect(place.astray).toEqual([])
    expect(place.entered).toEqual([])
  })

  test('that was left in the composer is entered by the next ring, and no second one is pasted', async () => {
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

  test('that an earlier shim left in the composer is entered by the next one, and not pasted again', async () => {
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
    ['a word behind it', (bell: string) => `${bell} and`],
    ['a word before it', (bell: string) => `and ${bell}`],
    ['one with a word inside', (bell: string) => bell.replace('once', 'twice')],
    ['the beginning of one', (bell: string) => bell.slice(0, -4)],
  ])('is left alone by a shim that finds %s in the composer', async (_, mixed) => {
    const draft = mixed(doorbell().text)
    const { place, ring, turn } = await world({ draft })
    expect(await turn()).toBe('unknown')
    expect(await ring()).toEqual(DEFERRED)
    expect(place).toMatchObject({ draft, entered: [] })
  })

  // A pane closes, and another one gets its place between two looks.
  test('is not typed where another pane is looked at than a moment ago', async () => {
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

  // tmux had typed it, and its answer came too late.
  test.each([
    ['the same bell', (bell: ReturnType<typeof doorbell>) => bell],
    ['the next one', () => doorbell()],
  ])('that arrived though tmux gave no answer is entered by %s, and not pasted again', async (_, next) => {
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
  })

  // A slow client: pressing Enter again at once would send it twice.
  test('that was entered and leaves late is sent, and gets its receipt with its turn', async () => {
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

  test('is outstanding while nothing follows it in the conversation, however long that takes', async () => {
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

  test('is outstanding where the client took it and shows nothing of it yet', async () => {
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

  test('is outstanding no more once the prompt has stood long without a trace of it', async () => {
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
  ])('is outstanding for the bound at the prompt after %s', async (_, hides, shows) => {
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

  test('is outstanding while it stands in the composer after Enter', async () => {
    const { place, ring, passes, surface } = await world()
    place.pane.enter = async () => true
    const bell = doorbell()
    await ring(bell)
    await passes(30_000)
    expect(await surface.status()).toMatchObject({ outstanding_doorbell_id: bell.doorbell_id })
  })

  test('is still outstanding after a look at the pane that failed', async () => {
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

  test('is not outstanding where the client is gone', async () => {
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

  test('that never reaches the composer has failed', async () => {
    const { ring } = await world({ mode: 'swallows' })
    expect(await ring()).toEqual(FAILED)
  })

  test.each([
    '[turnbell] two\nlines (bell 0a1b2c3d)',
    '/clear',
    '!rm x',
    '[turnbell] \u001b[31mred (bell 0a1b2c3d)',
  ])('is refused where it is not one plain line: %j', async (text) => {
    const { place, ring } = await world()
    expect(await ring({ ...doorbell(), text })).toEqual(FAILED)
    expect(place).toMatchObject({ draft: '', entered: [] })
  })

  // By then the daemon has given the ring up, and may have sent the next.
  test('is not typed late where tmux takes its time', async () => {
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

  test('is refused while another one is on its way', async () => {
    const { place, ring, surface } = await world({ mode: 'delays' })
    const first = ring()
    expect(await surface.notify_surface(doorbell())).toEqual(DEFERRED)
    expect(await first).toMatchObject({ accepted: true })
    expect(place.entered).toHaveLength(1)
  })
})

describe('a turn in a tmux pane', () => {
  test('goes on through a dialog, and ends at the prompt', async () => {
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

  test('does not begin with a draft or a list', async () => {
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

  // Between Enter and the first sign of the turn the screen looks like one at rest.
  test('that a bell began is not over before there was time for it to show', async () => {
    const { place, ring, passes, turn } = await world()
    place.begins_late = true
    await ring()
    place.transcript.push('● Done.')
    await passes(LIMITS.tmux_begin_ms - 500)
    expect(await turn()).toBe('busy')
    await passes()
    expect(await turn()).toBe('idle')
  })

  test('that a person interrupted is reported as such until they send something', async () => {
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

  // Codex shows nothing of a turn while its answer comes in, and a long one leaves nothing else on the screen.
  test('of Codex is not over where a screenful of its answer stands still', async () => {
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

  test('is unknown while the pane is gone, and known again when it is back', async () => {
    const { place, passes, turn } = await world()
    place.mode = 'gone'
    await passes()
    expect(await turn()).toBe('unknown')
    place.mode = 'takes'
    await passes()
    expect(await turn()).toBe('idle')
  })
})

describe('whose pane it is', () => {
  // `sh run.sh`: tmux names the same program before and after.
  test('is asked again where a client inside a script has ended', async () => {
    const { place, passes, surface } = await world({ command: 'sh' })
    expect((await surface.status()).absent).toBeUndefined()
    Object.assign(place, { client: null, dialog: 'it ended with 0; again? ' })
    await passes(5_000)
    expect(await surface.status()).toMatchObject({ turn: 'unknown', absent: true })
  })

  test('is not asked for ever while the client shows its prompt', async () => {
    const { place, passes } = await world()
    place.pane.client = () => expect.unreachable('it was asked already')
    await passes(60_000)
  })

  test('is found out anew by whoever resumes', async () => {
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

test('the pane is looked at once at a time, also by whoever resumes: an older look would count as news', async () => {
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

test('a pane that cannot be looked at is warned of once for each reason, and again after it was seen', async () => {
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
