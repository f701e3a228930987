import fs from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { Config } from '../../../../src/contracts/config.ts'
import { silentLog } from '../../../../src/ports/log.ts'
import { personaPaths, resolveHome } from '../../../../src/system/config/home.ts'
import { workingDirectory, type ShimEnvironment } from '../../../../src/system/clients/shim-environment.ts'
import { temporaryDirectory } from '../../../support/temporary-directory.ts'

function placeWith(project?: string): ShimEnvironment {
  const home = resolveHome({}, temporaryDirectory())
  const config = Config.parse({
    personas: { ada: { surface: 'codex', headless: true, ...(project === undefined ? {} : { project }) } },
  })
  const paths = personaPaths(home, 'local', 'ada', {})
  return { home, config, identity: 'ada', settings: config.personas['ada'], paths, log: silentLog }
}

test('an agent works in its project, given absolutely or relative to the home', () => {
  const project = temporaryDirectory()
  expect(workingDirectory(placeWith(project))).toBe(project)
  const place = placeWith('shop')
  const shop = path.join(place.home.root, 'shop')
  fs.mkdirSync(shop)
  expect(workingDirectory(place)).toBe(shop)
})

test.each([
  ['no project', undefined, 'nowhere to work'],
  ['one that is not there', '/no/such/place', '/no/such/place is not a directory'],
])('an agent with %s is not started, with an error that names what is missing', (_, project, detail) => {
  expect(() => workingDirectory(placeWith(project))).toThrow(
    expect.objectContaining({ code: 'config_invalid', detail: expect.stringContaining(detail) as string }),
  )
})
