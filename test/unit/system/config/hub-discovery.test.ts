import fs from 'node:fs'
import path from 'node:path'
import { describe, expect, test } from 'vitest'
import { Config } from '../../../../src/contracts/config.ts'
import { findHub, requireHub, requireHubUrl } from '../../../../src/system/config/hub-discovery.ts'
import { processStartTime } from '../../../../src/system/process/process-info.ts'
import { resolveHome } from '../../../../src/system/config/home.ts'
import { temporaryHome } from '../../../support/processes/processes.ts'

const started_at = '2026-01-01T00:00:00.000Z'
/** Above the maximum pid of Linux. */
const NO_PROCESS = 2 ** 30

function homeWith(pid: number | null, more: object = {}) {
  const home = resolveHome({}, temporaryHome())
  fs.mkdirSync(path.dirname(home.hub_pid), { recursive: true })
  if (pid !== null)
    fs.writeFileSync(home.hub_pid, JSON.stringify({ pid, url: 'http://127.0.0.1:7001', started_at, ...more }))
  return home
}
const config = (hub: object = {}) => Config.parse({ hub })

describe('the address of a hub', () => {
  test('the URL of a hub is the one of the running hub of this home', () => {
    for (const started of [processStartTime(process.pid), null, undefined])
      expect(findHub(homeWith(process.pid, { started }), config())).toBe('http://127.0.0.1:7001')
  })
  test('the flag takes precedence over the configuration, which takes precedence over the running hub', () => {
    const home = homeWith(process.pid)
    const configured = config({ url: 'http://hub.example/' })
    expect(findHub(home, configured, 'http://127.0.0.1:9/')).toBe('http://127.0.0.1:9')
    expect(findHub(home, configured)).toBe('http://hub.example')
  })
  test.each(['notaurl', 'ws://127.0.0.1:1', '127.0.0.1:4888', ''])('is not %j', (flag) => {
    expect(() => requireHubUrl(flag)).toThrow(expect.objectContaining({ code: 'usage_invalid' }))
    expect(() => config({ url: flag })).toThrow()
  })
  test('the error without a hub names the flag', () => {
    expect(() => requireHubUrl('notaurl')).toThrow('--hub: "notaurl"')
    expect(() => requireHubUrl('notaurl', '--prefer-daemon')).toThrow('--prefer-daemon: "notaurl"')
  })
  // A process on the default port would not be the hub, and must not get a token of this home.
  test.each([
    ['none ever ran', null, {}],
    ['the last one was killed', NO_PROCESS, {}],
    ['another process has its number after a reboot', process.pid, { started: 'another boot:1' }],
  ])('there is no URL of a hub when %s', (_, pid, more) => {
    const home = homeWith(pid, more)
    expect(findHub(home, config())).toBeNull()
    expect(() => requireHub(home, config())).toThrow(`no hub runs in ${home.root}`)
  })
})
