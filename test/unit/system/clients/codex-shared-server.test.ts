import fs from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { sharedInstance, sharedSocket } from '../../../../src/system/clients/codex-shared-server.ts'
import { processInstance } from '../../../../src/system/process/process-info.ts'
import { temporaryDirectory } from '../../../support/temporary-directory.ts'

/** In the format of the pid file of Codex 0.169.0. */
function homeWith(pid: number): string {
  const codex_home = temporaryDirectory()
  const file = path.join(codex_home, 'app-server-daemon', 'daemon.pid')
  fs.mkdirSync(path.dirname(file))
  const processIdentity = { bootId: '0', startTicks: 1 }
  fs.writeFileSync(
    file,
    JSON.stringify({ pid, processStartTime: 'Sun Nov 29 22:14:20 2026', processIdentity }),
  )
  return codex_home
}

test('the shared app-server of Codex is the process in its pid file while that lives', () => {
  expect(processInstance(process.pid)).toMatch(new RegExp(`^${process.pid}:.`))
  expect(sharedInstance(homeWith(process.pid))).toBe(processInstance(process.pid))
  expect(sharedInstance(homeWith(2 ** 22 + 1))).toBeNull()
})

test('the shared app-server of Codex is unknown without its pid file', () => {
  expect(sharedInstance(temporaryDirectory())).toBeNull()
  expect(sharedSocket('/c')).toBe('/c/app-server-control/app-server-control.sock')
})
