import net from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { freePort, isFree } from '../../../../src/system/ipc/free-port.ts'

test('a port on loopback is free until a process listens there', async () => {
  const port = await freePort()
  expect(await isFree(port)).toBe(true)
  const server = net.createServer()
  onTestFinished(() => void server.close())
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
  expect(await isFree(port)).toBe(false)
})
