/** Tests the socket on which a worker serves the module in its client. */
import fs from 'node:fs'
import http from 'node:http'
import path from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { createModLink } from '../../../../adapters/claude-code/mod-link/mod-link.ts'
import { createModServer } from '../../../../adapters/claude-code/mod-link/mod-server.ts'
import { LIMITS } from '../../../../src/contracts/limits/limits.ts'
import { silentLog } from '../../../../src/ports/log.ts'
import { systemClock } from '../../../../src/system/clock.ts'
import { personaPaths, prepareHome, resolveHome } from '../../../../src/system/config/home.ts'
import { openModSocket, removeOrphanedModSockets } from '../../../../src/system/ipc/mod-socket.ts'
import { createIds, systemRandom } from '../../../../src/system/random.ts'
import { HELLO } from '../../../support/fakes/fake-module.ts'
import { doorbell } from '../../../support/doorbells.ts'
import { temporaryDirectory } from '../../../support/temporary-directory.ts'

const PID = 4_000_001
const ids = createIds(systemClock, systemRandom)

function post(socketPath: string, at: string, text: string): Promise<{ status: number; body: unknown }> {
  return new Promise((resolve, reject) => {
    const request = http.request({ socketPath, path: at, method: 'POST', agent: false })
    request.on('error', reject)
    request.on('response', (response) => {
      let body = ''
      response.setEncoding('utf8')
      response.on('data', (chunk: string) => (body += chunk))
      response.on('end', () => resolve({ status: response.statusCode ?? 0, body: JSON.parse(body) }))
    })
    request.end(text)
  })
}

async function serve(root = path.join(temporaryDirectory(), 'home'), persona = 'ada') {
  const home = resolveHome({}, root)
  prepareHome(home)
  const link = createModLink({
    ...{ version: '0.1.0', enabled: true, clock: systemClock, log: silentLog },
    ...{ newEpoch: () => ids.next(), onAttached() {}, onEvent() {}, onDropped() {}, onLost() {} },
  })
  const paths = personaPaths(home, 'local', persona, {})
  const socket = await openModSocket(createModServer(link, ids, silentLog), { home, paths, client_pid: PID })
  onTestFinished(() => (link.close(), socket.close()))
  const pointer = path.join(home.root, 'run', `claude-${PID}.mod`)
  return { home, link, socket, pointer, at: fs.readFileSync(pointer, 'utf8').trim() }
}

test('a module finds the socket by the pointer, greets, waits and reports', async () => {
  const { at, link } = await serve()
  expect(fs.statSync(at).mode & 0o777).toBe(0o600)
  const hello = await post(at, '/hello', JSON.stringify(HELLO))
  expect(hello).toMatchObject({ status: 200, body: { mode: 'on', version: '0.1.0' } })
  const { epoch } = hello.body as { epoch: string }
  const waiting = post(at, '/wait', JSON.stringify({ epoch }))
  const bell = doorbell()
  const ringing = link.ring(bell)
  expect(await waiting).toEqual({
    status: 200,
    body: { bell: { doorbell_id: bell.doorbell_id, text: bell.text } },
  })
  const event = { seq: 1, at: 0, kind: 'bell', doorbell_id: bell.doorbell_id }
  const reported = await post(at, '/events', JSON.stringify({ epoch, lost: 0, events: [event] }))
  expect([reported.status, await ringing]).toEqual([200, 'entered'])
})

test('an event that cannot be read does not invalidate its batch', async () => {
  const { at, link } = await serve()
  const { body } = await post(at, '/hello', JSON.stringify(HELLO))
  const { epoch } = body as { epoch: string }
  const report = (...events: object[]) => post(at, '/events', JSON.stringify({ epoch, lost: 0, events }))
  const ringing = link.ring(doorbell())
  const newer = { seq: 1, at: 0, kind: 'moon_risen', phase: 'full' }
  const bell = { seq: 2, at: 0, kind: 'bell', doorbell_id: link.underWay() }
  expect([(await report(newer, bell)).status, await ringing]).toEqual([200, 'entered'])
  const other = link.ring(doorbell())
  const outcome = { seq: 4, at: 0, kind: 'bell', doorbell_id: link.underWay(), dropped: 'full moon' }
  expect((await report({ seq: 3, at: 0, kind: 'turn_ended' }, outcome)).status).toBe(200)
  expect(await other).toBe('failed')
})

test.each([
  ['an unknown epoch', '/events', '{"epoch":"x","lost":0,"events":[]}', 409, undefined],
  ['an unknown epoch in a wait', '/wait', '{"epoch":"x"}', 409, undefined],
  ['no JSON', '/hello', '{', 400, 'request_invalid'],
  ['a wrong field', '/hello', JSON.stringify({ ...HELLO, busy: 'yes' }), 400, 'request_invalid'],
  ['an unknown path', '/bye', '{}', 404, 'unknown_verb'],
  ['a large body', '/events', 'x'.repeat(LIMITS.mod_body_bytes_max + 1), 413, 'payload_too_large'],
])('%s is rejected', async (_, at, text, status, code) => {
  const { at: socket } = await serve()
  const answer = await post(socket, at, text)
  expect([answer.status, (answer.body as { code?: string }).code]).toEqual([status, code])
})

test('the files are removed at the end, and those of a killed client by the next worker', async () => {
  const { home, socket, pointer, at } = await serve()
  removeOrphanedModSockets(home.root, () => true)
  expect([fs.existsSync(pointer), fs.existsSync(at)]).toEqual([true, true])
  removeOrphanedModSockets(home.root, () => false)
  expect([fs.existsSync(pointer), fs.existsSync(at)]).toEqual([false, false])
  socket.close()
  const again = await serve()
  again.socket.close()
  expect([fs.existsSync(again.pointer), fs.existsSync(again.at)]).toEqual([false, false])
})

test.each([
  ['the same persona', 'ada'],
  ['another persona', 'ben'],
])('a worker that ends late keeps the files of its successor, for %s', async (_, persona) => {
  const former = await serve()
  const next = await serve(former.home.root, persona)
  former.socket.close()
  expect(fs.readFileSync(next.pointer, 'utf8').trim()).toBe(next.at)
  expect(await post(next.at, '/hello', JSON.stringify(HELLO))).toMatchObject({ status: 200 })
  expect(fs.existsSync(former.at)).toBe(former.at === next.at)
  next.socket.close()
  expect([fs.existsSync(next.pointer), fs.existsSync(next.at)]).toEqual([false, false])
})
