import fs from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { nodeProgram } from '../../../../src/system/process/node-program.ts'
import { temporaryDirectory } from '../../../support/temporary-directory.ts'

/** A directory for programs, found on PATH. */
function machine() {
  const root = fs.realpathSync(temporaryDirectory())
  const at = (...names: string[]) => path.join(root, ...names)
  const make = (file: string, text = '') => {
    fs.mkdirSync(path.dirname(file), { recursive: true })
    fs.writeFileSync(file, text, { mode: 0o755 })
    return file
  }
  const link = (file: string, to: string) => {
    fs.mkdirSync(path.dirname(file), { recursive: true })
    fs.symlinkSync(to, file)
    return file
  }
  const name = (execPath: string, folders: string[], argv0 = 'node') =>
    nodeProgram({ PATH: folders.join(':') }, { execPath, argv0, platform: 'linux' })
  return { at, make, link, name }
}

test('Homebrew: the link in its bin directory is the name of node', () => {
  const { at, make, link, name } = machine()
  const real = make(at('Cellar', 'node', '20.1.0', 'bin', 'node'))
  const bin = link(at('bin', 'node'), real)
  expect(name(real, [at('nowhere'), at('bin')])).toBe(bin)
})

test('nvm: node is called node, because PATH contains it only in a versioned directory', () => {
  const { at, make, name } = machine()
  const real = make(at('.nvm', 'versions', 'node', 'v20.1.0', 'bin', 'node'))
  expect(name(real, [path.dirname(real), at('bin')])).toBe('node')
})

test('fnm: a directory that lasts as long as a shell is not used', () => {
  const { at, make, link, name } = machine()
  const real = make(at('fnm', 'node-versions', 'v20.1.0', 'installation', 'bin', 'node'))
  link(at('fnm_multishells', '12_34', 'bin', 'node'), real)
  expect(name(real, [at('fnm_multishells', '12_34', 'bin')])).toBe('node')
})

test('mise, asdf: the shim is the name of node', () => {
  const { at, make, name } = machine()
  const real = make(at('mise', 'installs', 'node', '20.1.0', 'bin', 'node'))
  const shim = make(at('mise', 'shims', 'node'))
  expect(name(real, [path.dirname(real), at('mise', 'shims')])).toBe(shim)
})

test('another node on PATH is not the name of this one', () => {
  const { at, make, name } = machine()
  const real = make(at('opt', 'node', 'bin', 'node'))
  make(at('bin', 'node'))
  expect(name(real, [at('bin')])).toBe(real)
})

test('a node of a version that PATH does not have keeps its path, or the name it was started by', () => {
  const { at, make, link, name } = machine()
  const real = make(at('Cellar', 'node', '20.1.0', 'bin', 'node'))
  expect(name(real, [])).toBe(real)
  const started = link(at('opt', 'node', 'bin', 'node'), real)
  expect(name(real, [], started)).toBe(started)
})

test('a file that cannot be executed is not a program', () => {
  const { at, make, link, name } = machine()
  const real = make(at('opt', 'node'))
  fs.mkdirSync(at('folder', 'node'), { recursive: true })
  const bin = link(at('bin', 'node'), real)
  expect(name(real, [at('folder'), 'bin', at('bin')])).toBe(bin)
})
