/** Interrupts by a person at an opencode session, and their end. */
import { beforeEach, describe, expect, test } from 'vitest'
import { opencodeSurface, type OpencodeSurface } from '../../../../adapters/opencode/opencode-surface.ts'
import type { Event } from '../../../../adapters/opencode/protocol.ts'
import { LIMITS } from '../../../../src/contracts/limits/limits.ts'
import { silentLog } from '../../../../src/ports/log.ts'
import { atRest, fakeClock, type FakeClock } from '../../../support/fakes/fake-clock.ts'
import { fakeOpencode, session } from '../../../support/fakes/fake-opencode.ts'
import { recordingHost } from '../../../suites/surface.suite.ts'

let clock: FakeClock
let surface: OpencodeSurface
/** Whether a person is present. */
let attended: boolean
beforeEach(() => {
  clock = fakeClock()
  attended = true
  surface = opencodeSurface({
    identity: 'ada',
    clock,
    log: silentLog,
    storeSession() {},
    mayRedo: () => attended,
  })
  surface.open(recordingHost())
})

const tell = (...events: Event[]) => events.forEach((event) => surface.handleEvent(event))
const status = () => surface.status()

async function attached(place = fakeOpencode(clock)) {
  await surface.connected(place.server, { id: 'ses_1', directory: '/project' })
  await atRest()
  return place
}

/** A turn whose answer has begun. */
async function inTurn() {
  const place = await attached()
  tell(place.message('msg_1'), place.says('busy'), place.answer('msg_1'))
  return place
}

describe('an abort by a person', () => {
  test('an abort is reported until the person writes a message', async () => {
    const place = await inTurn()
    tell(...place.breaks())
    await clock.advance(LIMITS.opencode_settle_ms)
    expect(await status()).toMatchObject({ turn: 'idle', interrupted: true })
    tell(place.message('msg_9'))
    expect(await status()).not.toHaveProperty('interrupted')
  })

  test('a failed turn is not an abort', async () => {
    const place = await attached()
    tell(place.message('msg_1'), place.says('busy'), ...place.breaks('ses_1', 'APIError'))
    await clock.advance(LIMITS.opencode_settle_ms)
    expect(await status()).not.toHaveProperty('interrupted')
  })

  test('an abort is not reported while no person is present', async () => {
    const place = await inTurn()
    tell(...place.breaks())
    attended = false
    expect(await status()).not.toHaveProperty('interrupted')
  })
})

describe('a dialog that a person denies', () => {
  test.each(['refuses', 'dismisses'] as const)('a denied dialog is an interrupt: %s', async (how) => {
    const place = await inTurn()
    tell(place[how](), ...place.ends())
    expect(await status()).toMatchObject({ turn: 'idle', interrupted: true })
    tell(place.message('msg_9'))
    expect(await status()).not.toHaveProperty('interrupted')
  })

  test('a denied dialog stays an interrupt when the denied answer is reported again', async () => {
    const place = await inTurn()
    const answer = place.answer('msg_1')
    tell(answer, place.refuses(), answer, ...place.ends())
    expect(await status()).toMatchObject({ turn: 'idle', interrupted: true })
  })

  test('a denied dialog is an interrupt of a turn that began before the shim connected', async () => {
    const place = fakeOpencode(clock)
    place.message('msg_0001')
    const answer = place.answer('msg_0001')
    place.busy = true
    await attached(place)
    tell(place.refuses(), answer, ...place.ends())
    expect(await status()).toMatchObject({ turn: 'idle', interrupted: true })
  })

  test("a denied dialog is not an interrupt if the agent continues with the person's message", async () => {
    const place = await inTurn()
    tell(place.refuses(), place.answer('msg_1'), ...place.ends())
    expect(await status()).toMatchObject({ turn: 'idle' })
    expect(await status()).not.toHaveProperty('interrupted')
  })

  test('an allowed dialog is not an interrupt', async () => {
    const place = await inTurn()
    tell(place.refuses('ses_1', 'once'), ...place.ends())
    expect(await status()).not.toHaveProperty('interrupted')
  })

  test('a denied dialog of a subagent is not an interrupt', async () => {
    const place = await inTurn()
    tell(place.created(session('ses_2', { parentID: 'ses_1' })), place.refuses('ses_2'), ...place.ends())
    expect(await status()).toMatchObject({ session_id: 'ses_1', turn: 'idle' })
    expect(await status()).not.toHaveProperty('interrupted')
  })

  test('a dialog that the shim denied is not an interrupt', async () => {
    const place = await inTurn()
    attended = false
    tell(place.dismisses(), ...place.ends())
    attended = true
    expect(await status()).not.toHaveProperty('interrupted')
  })
})
