/** Tests the embedded hub: who may ask it to give up its place, and that it stops only once. */
import path from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { openHubLogs } from '../../../../src/hub/observability/logs.ts'
import { startEmbeddedHub } from '../../../../src/hub/embedded/embedded-hub.ts'
import { systemClock } from '../../../../src/system/clock.ts'
import { loadConfig } from '../../../../src/system/config/config.ts'
import { prepareHome, resolveHome } from '../../../../src/system/config/home.ts'
import { readOperatorToken } from '../../../../src/system/config/secrets.ts'
import type { EmbeddedHub } from '../../../../src/bridge/hub/fallback.ts'
import { eventually } from '../../../support/eventually.ts'
import { temporaryDirectory } from '../../../support/temporary-directory.ts'

const running: EmbeddedHub[] = []
afterEach(async () => {
  for (const one of running.splice(0)) await one.stop()
})

async function start() {
  const root = temporaryDirectory()
  const env = { TURNBELL_HOME: root }
  const home = resolveHome(env)
  prepareHome(home)
  let ends = 0
  const hub = await startEmbeddedHub({
    ...{ home, clock: systemClock, env },
    readConfig: () => loadConfig(home.config, env, { hub: { port: 0 } }),
    onEnd: () => (ends += 1),
  })
  running.push(hub)
  const ask = async (route: string, token: string | null, { method = 'POST', body = {} } = {}) => {
    const headers = { 'content-type': 'application/json', ...(token && { authorization: `Bearer ${token}` }) }
    const init = { method, headers, ...(method === 'POST' ? { body: JSON.stringify(body) } : {}) }
    const answer = await fetch(`${hub.url}${route}`, init)
    const text = await answer.text()
    return { status: answer.status, body: (text === '' ? {} : JSON.parse(text)) as Record<string, unknown> }
  }
  return { hub, ask, operator: readOperatorToken(home) ?? '', ends: () => ends }
}

test('only the operator may ask an embedded hub to give up its place', async () => {
  const { ask, operator, ends } = await start()
  for (const kind of ['agent', 'observer']) {
    const { body } = await ask('/auth/token', operator, {
      body: { identity: 'ada', kind, session_id: 's-1' },
    })
    const refused = await ask('/yield', String(body['token']))
    expect(refused, kind).toMatchObject({ status: 403, body: { code: 'operator_required' } })
  }
  expect((await ask('/yield', null)).status).toBe(401)
  expect((await ask('/yield', 'forged')).status).toBe(401)
  expect((await ask('/yield', operator, { method: 'GET' })).body).toMatchObject({ code: 'route_unknown' })
  expect((await ask('/health', operator, { method: 'GET' })).status, 'it still answers').toBe(200)
  expect(ends()).toBe(0)
})

test('an embedded hub stops once if its bridge stops it at the same moment', async () => {
  const { hub, ask, operator, ends } = await start()
  expect((await ask('/yield', operator)).status).toBe(202)
  await Promise.all([hub.stop(), hub.stop()])
  await eventually('it says that it is over', () => ends() === 1)
  await hub.stop()
  expect(ends()).toBe(1)
})

test('logs are closed once, however often that is requested', () => {
  const dir = temporaryDirectory()
  const files = { hub_log: path.join(dir, 'hub'), dispatch_log: path.join(dir, 'dispatch') }
  const logs = openHubLogs(files, 'info', systemClock)
  logs.close()
  logs.close()
})
