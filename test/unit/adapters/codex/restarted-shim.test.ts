/** The doorbells that a replacement Codex shim reports for its thread. */
import { beforeEach, describe, expect, test } from 'vitest'
import { codexSurface } from '../../../../adapters/codex/codex-surface.ts'
import type { Notification } from '../../../../adapters/codex/protocol.ts'
import { silentLog } from '../../../../src/ports/log.ts'
import { doorbell } from '../../../support/doorbells.ts'
import { fakeAppServer } from '../../../support/fakes/fake-app-server.ts'
import { atRest, fakeClock, type FakeClock } from '../../../support/fakes/fake-clock.ts'
import { recordingHost } from '../../../suites/surface.suite.ts'

let clock: FakeClock
let place: ReturnType<typeof fakeAppServer>
beforeEach(() => {
  clock = fakeClock()
  place = fakeAppServer(clock)
})

async function begin() {
  const surface = codexSurface({ identity: 'ada', clock, log: silentLog })
  const host = recordingHost()
  surface.open(host)
  await surface.connected(place.server)
  await atRest()
  const tell = (...told: Notification[]) => told.forEach((one) => surface.handleNotification(one))
  return { surface, host, tell }
}

/** A doorbell and the turn that it begins. */
async function rung() {
  const { surface, tell } = await begin()
  const bell = doorbell()
  expect(await surface.notify_surface(bell)).toMatchObject({ accepted: true })
  tell(...place.begins())
  return { bell, surface, tell }
}

describe('a replacement Codex shim', () => {
  test('reports the last seen doorbell of the thread in its first report', async () => {
    const { bell, surface, tell } = await rung()
    tell(...place.ends())
    surface.close()
    const { host } = await begin()
    const [first] = host.reports.filter(({ session_id }) => session_id !== null)
    expect(first).toMatchObject({ seen_doorbell_id: bell.doorbell_id })
  })

  test('reports a seen doorbell whose turn still runs', async () => {
    const { bell, surface } = await rung()
    surface.close()
    place.loaded[0]!.status = { type: 'active' }
    const next = await begin()
    expect(await next.surface.status()).toMatchObject({ turn: 'busy', seen_doorbell_id: bell.doorbell_id })
  })

  test('reports the newest of several seen doorbells', async () => {
    const { surface, tell } = await rung()
    tell(...place.ends())
    const newest = doorbell()
    await surface.notify_surface(newest)
    tell(...place.begins(), ...place.ends())
    surface.close()
    const next = await begin()
    expect(await next.surface.status()).toMatchObject({ seen_doorbell_id: newest.doorbell_id })
  })

  test('reports no doorbell of another persona, and none if the thread cannot be read', async () => {
    place.said.push({ type: 'userMessage', clientId: `turnbell:bob:${doorbell().doorbell_id}` })
    expect(await (await begin()).surface.status()).not.toHaveProperty('seen_doorbell_id')
    const { surface } = await rung()
    surface.close()
    const real = { ...place.server }
    place.server.call = (method, params, ...rest) =>
      'includeTurns' in params ? Promise.reject(new Error('too slow')) : real.call(method, params, ...rest)
    const next = await begin()
    expect(await next.surface.status()).toMatchObject({ session_id: 'thread-1' })
    expect(await next.surface.status()).not.toHaveProperty('seen_doorbell_id')
  })
})
