/** Packs the package, installs the tarball in an empty directory and runs the command from there. */
import { execFileSync } from 'node:child_process'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'

const root = path.resolve(import.meta.dirname, '..')
const empty = fs.mkdtempSync(path.join(os.tmpdir(), 'turnbell-package-'))
const run = (command, args, cwd = empty) => execFileSync(command, args, { cwd, encoding: 'utf8' })

try {
  run(path.join(root, 'node_modules/.bin/publint'), ['--strict'], root)
  const [{ filename }] = JSON.parse(
    run('npm', ['pack', '--json', '--ignore-scripts', '--pack-destination', empty], root),
  )
  fs.writeFileSync(path.join(empty, 'package.json'), '{"private":true}')
  run('npm', ['install', '--silent', '--no-audit', '--no-fund', path.join(empty, filename)])
  const { version } = JSON.parse(fs.readFileSync(path.join(root, 'package.json'), 'utf8'))
  const said = run(path.join(empty, 'node_modules/.bin/turnbell'), ['--version']).trim()
  if (said !== version) throw new Error(`--version said ${said}, the package is ${version}`)
  const demo = JSON.parse(run(path.join(empty, 'node_modules/.bin/turnbell'), ['demo', '--json']))
  if (demo.ok !== true) throw new Error(`the demo failed: ${JSON.stringify(demo)}`)
  console.log(`packed, installed and ran turnbell ${said}`)
} finally {
  fs.rmSync(empty, { recursive: true, force: true })
}
