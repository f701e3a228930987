/** Bundles the simulation with the product's sources, unchanged or with one planted bug. */
import { createHash } from 'node:crypto'
import fs from 'node:fs'
import path from 'node:path'
import { bundled } from '../support/command/bundled.mjs'
import { withBug } from './mutants/plant.mjs'

const root = path.resolve(import.meta.dirname, '../..')

/**
 * Returns the folder that contains `main.js`, `search.js`, `worker.js` and `tracer.js`. Throws if a mutant no longer
 * fits its file, because it would test nothing.
 */
export function bundleSimulation(ending, mutant) {
  const plugins = mutant === undefined ? [] : [planted(mutant)]
  return bundled(
    'sim',
    ['main', 'search', 'worker', 'tracer'].map((name) => `test/sim/${name}.ts`),
    ending,
    { plugins, banner: { js: `// with Node ${process.version} and packages ${packagesDigest()}` } },
  )
}

/**
 * Packages are not bundled, so their versions identify their behaviour. Development packages count too, because built
 * files contain some of them.
 */
function packagesDigest() {
  const { packages } = JSON.parse(fs.readFileSync(path.join(root, 'package-lock.json'), 'utf8'))
  const versions = Object.entries(packages).map(([place, { version }]) => `${place}@${version}`)
  return createHash('sha256').update(versions.join('\n')).digest('hex').slice(0, 16)
}

function planted(mutant) {
  const { name, file } = mutant
  const target = path.join(root, file)
  return {
    name: 'planted-bug',
    setup({ onLoad, onEnd }) {
      let planted_in = 0
      onLoad({ filter: /\.ts$/ }, ({ path: loading }) => {
        if (loading !== target) return undefined
        planted_in += 1
        return { contents: withBug(mutant, fs.readFileSync(loading, 'utf8')), loader: 'ts' }
      })
      onEnd(() =>
        planted_in === 1 ? {} : { errors: [{ text: `mutant ${name}: ${file} is no part of it` }] },
      )
    },
  }
}
