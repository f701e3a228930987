import fs from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { makeDurableDirectory, parentsOfMade } from '../../../../src/system/files/durable-directory.ts'
import { temporaryDirectory } from '../../../support/temporary-directory.ts'

test('parentsOfMade returns the parents of all created directories', () => {
  expect(parentsOfMade('/home', '/home')).toEqual(['/'])
  expect(parentsOfMade('/home/ada/one', '/home/ada/one/two/three')).toEqual([
    '/home/ada/one/two',
    '/home/ada/one',
    '/home/ada',
  ])
  expect(parentsOfMade('/home/ada/one/', '/home/ada/one/two/../two/')).toEqual(['/home/ada/one', '/home/ada'])
})

test('a directory is created with its missing parents, and an existing one is not changed', () => {
  const above = temporaryDirectory()
  const [there, made] = [path.join(above, 'there'), path.join(above, 'one/two')]
  fs.mkdirSync(there, { mode: 0o750 })
  makeDurableDirectory(there, 0o700)
  makeDurableDirectory(made, 0o700)
  const modes = [there, path.dirname(made), made].map((one) => fs.statSync(one).mode & 0o777)
  expect(modes).toEqual([0o750, 0o700, 0o700])
})
