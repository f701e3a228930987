/** Path of a socket after its server has closed. */
import fs from 'node:fs'
import path from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { connectLocally, localSockets } from '../../../../src/system/ipc/unix-socket.ts'
import { temporaryDirectory } from '../../../support/temporary-directory.ts'

const answering = (word: string) => () => ({ onRequest: () => word, onClose: () => undefined })
async function asked(socket: string): Promise<unknown> {
  const peer = await connectLocally(socket)
  onTestFinished(() => peer.close())
  return peer.request('status', {}, 5_000)
}

test('a path that a successor has taken is not removed', async () => {
  const directory = temporaryDirectory()
  fs.chmodSync(directory, 0o700)
  const place = { directory, path: path.join(directory, 'control.sock') }
  const former = await localSockets.listen(place, answering('former'))
  const successor = await localSockets.listen(place, answering('successor'))
  await former.close()
  expect(await asked(place.path)).toBe('successor')
  await successor.close()
  expect(fs.readdirSync(directory)).toEqual([])
})

test('a listener that accepts no more keeps its connections and does not remove the socket of a successor', async () => {
  const directory = temporaryDirectory()
  fs.chmodSync(directory, 0o700)
  const place = { directory, path: path.join(directory, 'control.sock') }
  const former = await localSockets.listen(place, answering('former'))
  const connected = await connectLocally(place.path)
  onTestFinished(() => connected.close())
  former.stopAccepting()
  former.stopAccepting()
  expect(fs.readdirSync(directory)).toEqual([])
  const successor = await localSockets.listen(place, answering('successor'))
  expect(await connected.request('status', {}, 5_000)).toBe('former')
  await former.close()
  expect(await asked(place.path)).toBe('successor')
  await successor.close()
})

test('a socket in a directory of another user is not called, unless the home belongs to that user', async () => {
  const [directory, elsewhere] = [temporaryDirectory(), temporaryDirectory()]
  const place = { directory, path: path.join(directory, 'control.sock') }
  fs.chmodSync(directory, 0o700)
  const sockets = await localSockets.listen(place, answering('anybody'))
  onTestFinished(() => sockets.close())
  const us = vi.spyOn(process, 'getuid').mockReturnValue((process.getuid?.() ?? 0) + 1)
  onTestFinished(() => us.mockRestore())
  const refused = { code: 'home_not_permitted' }
  await expect(connectLocally(place.path)).rejects.toMatchObject(refused)
  await expect(connectLocally(place.path, {}, path.join(elsewhere, 'none'))).rejects.toMatchObject(refused)
  // As if root calls a user's daemon, with sockets inside or outside of the home.
  for (const run_dir of [directory, elsewhere]) {
    const peer = await connectLocally(place.path, {}, run_dir)
    expect(await peer.request('status', {}, 5_000)).toBe('anybody')
    peer.close()
  }
})
