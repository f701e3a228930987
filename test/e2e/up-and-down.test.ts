/** `turnbell up` beside commands that stop what it watches. */
import fs from 'node:fs'
import path from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { EXIT } from '../../src/contracts/exit-codes.ts'
import { runningHub } from '../../src/system/hub-address.ts'
import { resolveHome } from '../../src/system/home.ts'
import { end, startHub, startReady, temporaryHome, turnbell, type Running } from '../support/processes.ts'

const running: Running[] = []
afterEach(async () => {
  await Promise.all(running.splice(0).map((one) => end(one, 'SIGTERM')))
})

test.each([
  ['down', 'its own hub', ['down'], false],
  ['down', 'a hub that ran before', ['down'], true],
  ['uninstall', 'its own hub', ['uninstall'], false],
])('%s ends an up that watches %s', async (_, __, command, ran_before) => {
  const at = temporaryHome()
  fs.writeFileSync(path.join(at, 'config.yaml'), 'hub: {port: 0}\npersonas: {ada: {surface: mcp}}\n')
  if (ran_before) running.push(await startHub(at))
  const up = await startReady(['up', '--home', at], /turnbell up ready/)
  running.push(up)
  expect((await turnbell([...command, '--home', at])).code).toBe(0)
  expect(await up.exited).toBe(EXIT.done)
  expect(runningHub(resolveHome({}, at))).toBeNull()
})
