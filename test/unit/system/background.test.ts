import { expect, test } from 'vitest'
import { hubEnvironment } from '../../../src/system/background.ts'

test('a hub that somebody else starts does not take over what one client may see', () => {
  const env = { PATH: '/bin', TURNBELL_TOOLS: 'core,trace', TURNBELL_HOME: '/home/turnbell' }
  expect(hubEnvironment(env)).toEqual({ PATH: '/bin', TURNBELL_HOME: '/home/turnbell' })
})
