/** A copy of the product whose module may be changed, and a second plugin beside it, for scenes with the real Claude Code. */
import fs from 'node:fs'
import path from 'node:path'
import { onTestFinished } from 'vitest'
import { BIN } from '../processes/processes.ts'

export interface CopiedPlugins {
  /** Entry point of the copied product. */
  program: string
  /** Folder of the second plugin. */
  neighbour: string
  /** The client loads turnbell's module again. */
  reload: () => void
  /** The client loads a module that does nothing in place of turnbell's. */
  unload: () => void
  /** The neighbour's module blocks all modules until the client ends it. */
  block: (session: { say(text: string): void }) => void
}

/** Copies the product, because the client loads a changed module of the build in other scenes, too. */
export function copiedPlugins(): CopiedPlugins {
  // Inside node_modules, so that packages are resolved.
  const cache = path.join(path.dirname(BIN), '../node_modules/.cache')
  fs.mkdirSync(cache, { recursive: true })
  const copy = fs.mkdtempSync(path.join(cache, 'turnbell-copy-'))
  onTestFinished(() => fs.rmSync(copy, { recursive: true, force: true }))
  fs.cpSync(path.dirname(BIN), path.join(copy, 'dist'), { recursive: true })
  fs.copyFileSync(path.join(path.dirname(BIN), '../package.json'), path.join(copy, 'package.json'))
  const module = path.join(copy, 'dist/adapters/claude-code/hooks/mod.js')
  const write = (name: string, text: string) => {
    const file = path.join(copy, 'neighbour', name)
    fs.mkdirSync(path.dirname(file), { recursive: true })
    fs.writeFileSync(file, text)
  }
  let times = 0
  write('.claude-plugin/plugin.json', JSON.stringify({ name: 'neighbour', version: '1.0.0' }))
  write('hooks/hooks.json', JSON.stringify({ modules: ['./mod.js'] }))
  write('hooks/mod.js', blocking(times))
  return {
    program: path.join(copy, 'dist/turnbell.cjs'),
    neighbour: path.join(copy, 'neighbour'),
    reload: () => fs.appendFileSync(module, '// saved\n'),
    unload: () => fs.writeFileSync(module, 'export const register = () => {}\n'),
    block(session) {
      session.say('block all modules')
      // The client ended the module at its last time; a changed file loads it again.
      write('hooks/mod.js', blocking(++times))
    },
  }
}

const blocking = (times: number) => `// ${times}
export const register = (on) => {
  on('prompt.submit', ($, e, next) => {
    if (e.text.includes('block all modules')) for (;;) {}
    return next(e)
  })
}
`
