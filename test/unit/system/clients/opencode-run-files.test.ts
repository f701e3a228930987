import fs from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import {
  callingSession,
  removeEnded,
  opencodeRunFiles,
  serverAuthorization,
  serverUrl,
} from '../../../../src/system/clients/opencode-run-files.ts'
import { temporaryDirectory } from '../../../support/temporary-directory.ts'

const PROJECT = '/project'
const at = (pid?: number) => (pid === undefined ? undefined : { pid, directory: PROJECT })

const ADDRESS = { port: 4096, password: 'secret', attached: false }

test('stored state is read by another process, and only its owner can read the password', () => {
  const run_dir = temporaryDirectory()
  opencodeRunFiles(run_dir).keepServer(ADDRESS)
  opencodeRunFiles(run_dir).storeBound({ session_id: 'ses_1', directory: '/project' })
  expect(opencodeRunFiles(run_dir).server()).toEqual(ADDRESS)
  expect(opencodeRunFiles(run_dir).bound()).toEqual({ session_id: 'ses_1', directory: '/project' })
  const modes = fs.readdirSync(run_dir).map((name) => fs.statSync(path.join(run_dir, name)).mode & 0o777)
  expect(modes).toEqual([0o600, 0o600])
})

test('nothing is stored at first, after a removal, or in a damaged file', () => {
  const run_dir = temporaryDirectory()
  const place = opencodeRunFiles(run_dir)
  expect([place.server(), place.bound()]).toEqual([null, null])
  place.storeBound({ session_id: 'ses_1', directory: '/project' })
  place.storeBound(null)
  place.storeBound(null)
  expect(place.bound()).toBeNull()
  for (const text of ['', '{', '{"port":"x"}'])
    for (const name of ['opencode-server.json', 'opencode-session.json']) {
      fs.writeFileSync(path.join(run_dir, name), text)
      expect([place.server(), place.bound()]).toEqual([null, null])
    }
})

test('a call belongs to the session of the opencode that started the caller', () => {
  const run_dir = temporaryDirectory()
  const bind = (session_id: string, pid?: number) =>
    opencodeRunFiles(run_dir, at(pid)).storeBound({ session_id, directory: PROJECT })
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

test('two directories in one opencode have separate sessions, and removing one keeps the other', () => {
  const run_dir = temporaryDirectory()
  const [one, other] = ['/one', '/other'].map((directory) => ({ pid: 7, directory }))
  const calling = (directory: string) =>
    callingSession(run_dir, { env: { OPENCODE_PID: '7' }, directory })?.session_id
  for (const own of [one, other])
    opencodeRunFiles(run_dir, own).storeBound({ session_id: `ses_${own?.directory}`, directory: PROJECT })
  expect(['/one', '/other'].map(calling)).toEqual(['ses_/one', 'ses_/other'])
  opencodeRunFiles(run_dir, other).storeBound(null)
  expect(['/one', '/other'].map(calling)).toEqual(['ses_/one', undefined])
})

test('a directory that opencode entered by a link is the one in which its bridge is started', () => {
  const run_dir = temporaryDirectory()
  const link = path.join(run_dir, 'link')
  const directory = temporaryDirectory()
  fs.symlinkSync(directory, link)
  opencodeRunFiles(run_dir, { pid: 7, directory: link }).storeBound({ session_id: 'ses_1', directory: link })
  expect(callingSession(run_dir, { env: { OPENCODE_PID: '7' }, directory })?.session_id).toBe('ses_1')
})

test('the files of a killed opencode are removed, and no others', () => {
  const run_dir = temporaryDirectory()
  for (const pid of [undefined, 7, 8])
    opencodeRunFiles(run_dir, at(pid)).storeBound({ session_id: 'ses', directory: PROJECT })
  opencodeRunFiles(run_dir).keepWindowless({ session_id: 'ses_1', directory: '/project' })
  removeEnded(run_dir, (pid) => pid === 8)
  expect(opencodeRunFiles(run_dir, at(7)).bound()).toBeNull()
  expect(opencodeRunFiles(run_dir, at(8)).bound()).not.toBeNull()
  expect(opencodeRunFiles(run_dir).bound()).not.toBeNull()
  expect(opencodeRunFiles(run_dir).headlessSession()).toMatchObject({ session_id: 'ses_1' })
})

test('a server is called on loopback with the user name opencode and its password', () => {
  expect(serverUrl(ADDRESS)).toBe('http://127.0.0.1:4096')
  expect(serverAuthorization(ADDRESS)).toBe(`Basic ${btoa('opencode:secret')}`)
})
