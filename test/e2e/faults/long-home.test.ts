/** A home whose path is too long for a socket: its sockets are in another directory, which cleanup tools may empty. */
import fs from 'node:fs'
import path from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { adviserIn } from '../../support/advice.ts'
import { eventually } from '../../support/eventually.ts'
import { temporaryHome } from '../../support/processes/processes.ts'

test('removed sockets are recreated, and doctor reports them until then', async () => {
  const outer = temporaryHome()
  const home = path.join(outer, 'x'.repeat(110))
  fs.mkdirSync(home, { mode: 0o700 })
  fs.writeFileSync(path.join(home, 'config.yaml'), 'hub: {port: 0}\npersonas: {ada: {surface: mcp}}\n')
  const runtime = path.join(outer, 'runtime')
  fs.mkdirSync(runtime, { mode: 0o700 })
  const adviser = adviserIn(home, { XDG_RUNTIME_DIR: runtime })
  onTestFinished(() => adviser.close())
  const hub = await adviser.start('hub')
  const daemon = await adviser.start('daemon', '--persona', 'ada')
  const { control_socket } = (await adviser.turnbell('paths', '--persona', 'ada', '--json')).json<{
    control_socket: string
  }>()
  const sockets = path.join(runtime, 'turnbell')
  expect(control_socket.startsWith(`${sockets}/`)).toBe(true)
  const answers = async () => (await adviser.turnbell('status', '--persona', 'ada')).code === 0
  const isLinked = async () =>
    /no agent is attached/.test((await adviser.finding('daemon ada')).detail) ? true : null
  await eventually('it is linked', isLinked)

  fs.rmSync(sockets, { recursive: true })
  await eventually('it listens again', answers)

  // An obstacle that prevents it from listening again.
  fs.rmSync(sockets, { recursive: true })
  fs.writeFileSync(sockets, '')
  expect(await answers()).toBe(false)
  expect(await adviser.finding('daemon ada')).toMatchObject({
    state: 'broken',
    detail: expect.stringContaining(control_socket) as string,
  })
  const files = await adviser.finding('files')
  expect(files).toMatchObject({ state: 'broken', detail: expect.stringContaining(sockets) as string })
  await adviser.follow(files, [/^mv /])
  await eventually('it listens again', answers)
  await eventually('doctor is well', isLinked)
  expect([hub.child.exitCode, daemon.child.exitCode]).toEqual([null, null])
  for (const name of fs.readdirSync(path.dirname(control_socket)))
    expect(fs.statSync(path.join(path.dirname(control_socket), name)).mode & 0o777).toBe(0o600)
  expect(fs.statSync(sockets).mode & 0o777).toBe(0o700)
})
