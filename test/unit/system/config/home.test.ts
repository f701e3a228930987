import os from 'node:os'
import path from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { Identity, RESERVED_IDENTITIES } from '../../../../src/contracts/ids.ts'
import { personaPaths, resolveHome, workerLog } from '../../../../src/system/config/home.ts'

const home = resolveHome({}, '/home/of/tests')
const logOf = (identity: string) => personaPaths(home, 'local', identity, {}).log

test('a persona cannot have a name whose log is the log of another process', () => {
  expect(RESERVED_IDENTITIES).toContain(path.basename(home.hub_log, '.log'))
  const log = workerLog(home, 'ada', 'claude-code')
  expect(path.dirname(log)).toBe(home.logs_dir)
  const namesake = path.basename(log, '.log')
  expect(logOf(namesake)).toBe(log)
  expect(Identity.safeParse(namesake).success).toBe(false)
})

test('an empty HOME counts as unset, so that no secret is stored in the working directory', () => {
  vi.stubEnv('HOME', '')
  onTestFinished(() => void vi.unstubAllEnvs())
  expect(resolveHome({}).root).toBe(path.join(os.userInfo().homedir, '.turnbell'))
})

test('an empty variable counts as unset and an empty flag is rejected, so that neither means the working directory', () => {
  const usual = path.join(os.homedir(), '.turnbell')
  expect(resolveHome({}).root).toBe(usual)
  expect(resolveHome({ TURNBELL_HOME: '' }).root).toBe(usual)
  expect(resolveHome({ TURNBELL_HOME: '' }, '/home/named').root).toBe('/home/named')
  expect(() => resolveHome({ TURNBELL_HOME: '/home/of/tests' }, '')).toThrow(
    expect.objectContaining({ code: 'usage_invalid' }),
  )
})
