/** Writes dist/types: only the declarations that the package exports. */
import { execFileSync } from 'node:child_process'
import fs from 'node:fs'
import path from 'node:path'

const root = path.resolve(import.meta.dirname, '..')
const ROOTS = ['src/plugin/main.ts', 'adapters/kit/main.ts', 'test/suites/published.ts']
const aside = fs.mkdtempSync(path.join(root, 'node_modules/.types-'))
const types = path.join(root, 'dist/types')

try {
  const settings = {
    extends: path.join(root, 'tsconfig.json'),
    compilerOptions: {
      noEmit: false,
      declaration: true,
      emitDeclarationOnly: true,
      outDir: aside,
      rootDir: root,
    },
    files: ROOTS.map((file) => path.join(root, file)),
    include: [],
  }
  fs.writeFileSync(path.join(aside, 'tsconfig.json'), JSON.stringify(settings))
  execFileSync(path.join(root, 'node_modules/.bin/tsc'), ['-p', aside], { stdio: 'inherit' })
  fs.rmSync(types, { recursive: true, force: true })
  for (const file of ROOTS) keep(file.replace(/\.ts$/, '.d.ts'))
} finally {
  fs.rmSync(aside, { recursive: true, force: true })
}

/** Keeps this declaration and those it refers to, by names that every resolver supports. */
function keep(file) {
  const to = path.join(types, file)
  if (fs.existsSync(to)) return
  const text = fs.readFileSync(path.join(aside, file), 'utf8')
  fs.mkdirSync(path.dirname(to), { recursive: true })
  fs.writeFileSync(to, text.replace(/(from '\.[^']*)\.ts'/g, "$1.js'"))
  for (const [, next] of text.matchAll(/from '(\.[^']*)\.ts'/g))
    keep(path.join(path.dirname(file), `${next}.d.ts`))
}
