import fs from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import {
  callingSession,
  forgetEnded,
  opencodePlace,
  serverAuthorization,
  serverUrl,
} from '../../../src/system/opencode-place.ts'
import { temporaryDirectory } from '../../support/temporary-directory.ts'

const PROJECT = '/project'
const at = (pid?: number) => (pid === undefined ? undefined : { pid, directory: PROJECT })

const ADDRESS = { port: 4096, password: 'secret', attached: false }

test('what one process keeps another finds, and only its owner can read the password', () => {
  const run_dir = temporaryDirectory()
  opencodePlace(run_dir).keepServer(ADDRESS)
  opencodePlace(run_dir).keepBound({ session_id: 'ses_1', directory: '/project' })
  expect(opencodePlace(run_dir).server()).toEqual(ADDRESS)
  expect(opencodePlace(run_dir).bound()).toEqual({ session_id: 'ses_1', directory: '/project' })
  const modes = fs.readdirSync(run_dir).map((name) => fs.statSync(path.join(run_dir, name)).mode & 0o777)
  expect(modes).toEqual([0o600, 0o600])
})

test('nothing is kept at first, nor after it was forgotten, nor where a file was damaged', () => {
  const run_dir = temporaryDirectory()
  const place = opencodePlace(run_dir)
  expect([place.server(), place.bound()]).toEqual([null, null])
  place.keepBound({ session_id: 'ses_1', directory: '/project' })
  place.keepBound(null)
  place.keepBound(null)
  expect(place.bound()).toBeNull()
  for (const text of ['', '{', '{"port":"x"}'])
    for (const name of ['opencode-server.json', 'opencode-session.json']) {
      fs.writeFileSync(path.join(run_dir, name), text)
      expect([place.server(), place.bound()]).toEqual([null, null])
    }
})

test('a call is of the session in the very opencode that it comes from', () => {
  const run_dir = temporaryDirectory()
  const bind = (session_id: string, pid?: number) =>
    opencodePlace(run_dir, at(pid)).keepBound({ session_id, directory: PROJECT })
  const calling = (OPENCODE_PID?: string) => {
    const env = OPENCODE_PID === undefined ? {} : { OPENCODE_PID }
    return callingSession(run_dir, { env, directory: PROJECT })?.session_id
  }
  expect(calling('7')).toBeUndefined()
  bind('ses_server')
  bind('ses_7', 7)
  bind('ses_8', 8)
  expect([undefined, '7', '8', '9', '../7', ''].map(calling)).toEqual([
    ...['ses_server', 'ses_7', 'ses_8'],
    ...['ses_server', 'ses_server', 'ses_server'],
  ])
})

test('two directories in one opencode have a session each, and one that ends takes only its own along', () => {
  const run_dir = temporaryDirectory()
  const [one, other] = ['/one', '/other'].map((directory) => ({ pid: 7, directory }))
  const calling = (directory: string) =>
    callingSession(run_dir, { env: { OPENCODE_PID: '7' }, directory })?.session_id
  for (const own of [one, other])
    opencodePlace(run_dir, own).keepBound({ session_id: `ses_${own?.directory}`, directory: PROJECT })
  expect(['/one', '/other'].map(calling)).toEqual(['ses_/one', 'ses_/other'])
  opencodePlace(run_dir, other).keepBound(null)
  expect(['/one', '/other'].map(calling)).toEqual(['ses_/one', undefined])
})

test('a directory that opencode came to by a link is the one that its bridge is started in', () => {
  const run_dir = temporaryDirectory()
  const link = path.join(run_dir, 'link')
  const directory = temporaryDirectory()
  fs.symlinkSync(directory, link)
  opencodePlace(run_dir, { pid: 7, directory: link }).keepBound({ session_id: 'ses_1', directory: link })
  expect(callingSession(run_dir, { env: { OPENCODE_PID: '7' }, directory })?.session_id).toBe('ses_1')
})

test('what an opencode left behind that was killed is forgotten, and nothing else', () => {
  const run_dir = temporaryDirectory()
  for (const pid of [undefined, 7, 8])
    opencodePlace(run_dir, at(pid)).keepBound({ session_id: 'ses', directory: PROJECT })
  opencodePlace(run_dir).keepWindowless({ session_id: 'ses_1', directory: '/project' })
  forgetEnded(run_dir, (pid) => pid === 8)
  expect(opencodePlace(run_dir, at(7)).bound()).toBeNull()
  expect(opencodePlace(run_dir, at(8)).bound()).not.toBeNull()
  expect(opencodePlace(run_dir).bound()).not.toBeNull()
  expect(opencodePlace(run_dir).windowless()).toMatchObject({ session_id: 'ses_1' })
})

test('a server is asked on loopback, by the name that opencode gives to whoever knows the password', () => {
  expect(serverUrl(ADDRESS)).toBe('http://127.0.0.1:4096')
  expect(serverAuthorization(ADDRESS)).toBe(`Basic ${btoa('opencode:secret')}`)
})
