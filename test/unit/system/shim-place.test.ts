import fs from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { Config } from '../../../src/contracts/config.ts'
import { silentLog } from '../../../src/ports/log.ts'
import { personaPaths, resolveHome } from '../../../src/system/home.ts'
import { workingDirectory, type ShimPlace } from '../../../src/system/shim-place.ts'
import { temporaryDirectory } from '../../support/temporary-directory.ts'

function placeWith(project?: string): ShimPlace {
  const home = resolveHome({}, temporaryDirectory())
  const config = Config.parse({
    personas: { ada: { surface: 'codex', headless: true, ...(project === undefined ? {} : { project }) } },
  })
  const paths = personaPaths(home, 'local', 'ada', {})
  return { home, config, identity: 'ada', settings: config.personas['ada'], paths, log: silentLog }
}

test('an agent works in its project, said absolutely or from the home', () => {
  const project = temporaryDirectory()
  expect(workingDirectory(placeWith(project))).toBe(project)
  const place = placeWith('shop')
  const shop = path.join(place.home.root, 'shop')
  fs.mkdirSync(shop)
  expect(workingDirectory(place)).toBe(shop)
})

test.each([
  ['no project', undefined, 'nowhere to work'],
  ['one that is not there', '/no/such/place', '/no/such/place is no directory'],
])('an agent with %s is not started, and it is said what is missing', (_, project, detail) => {
  expect(() => workingDirectory(placeWith(project))).toThrow(
    expect.objectContaining({ code: 'config_invalid', detail: expect.stringContaining(detail) as string }),
  )
})
