/** Bundles the simulation with the product's own sources, as they are or with one planted bug. */
import { build } from 'esbuild'
import fs from 'node:fs'
import path from 'node:path'

const root = path.resolve(import.meta.dirname, '../..')

/**
 * Answers the folder that holds `main.js` and `worker.js`, inside node_modules so that packages are found from there.
 * It goes with `ending`. A mutant that no longer fits its file is an error: it would test nothing.
 */
export async function bundleSimulation(ending, mutant) {
  const cache = path.join(root, 'node_modules/.cache')
  fs.mkdirSync(cache, { recursive: true })
  const out = ending.removes(fs.mkdtempSync(path.join(cache, 'turnbell-sim-')))
  await build({
    entryPoints: ['main', 'worker'].map((name) => path.join(root, `test/sim/${name}.ts`)),
    outdir: out,
    bundle: true,
    platform: 'node',
    target: 'node20',
    format: 'esm',
    packages: 'external',
    sourcemap: 'inline',
    logLevel: 'warning',
    plugins: mutant === undefined ? [] : [planted(mutant)],
  })
  fs.writeFileSync(path.join(out, 'package.json'), '{"type":"module"}')
  return out
}

function planted({ name, file, find, replace }) {
  const target = path.join(root, file)
  return {
    name: 'planted-bug',
    setup({ onLoad, onEnd }) {
      let planted_in = 0
      onLoad({ filter: /\.ts$/ }, ({ path: loading }) => {
        if (loading !== target) return undefined
        const text = fs.readFileSync(loading, 'utf8')
        if (text.split(find).length !== 2) {
          return { errors: [{ text: `mutant ${name}: ${file} has not exactly one ${JSON.stringify(find)}` }] }
        }
        planted_in += 1
        return { contents: text.replace(find, () => replace), loader: 'ts' }
      })
      onEnd(() =>
        planted_in === 1 ? {} : { errors: [{ text: `mutant ${name}: ${file} is no part of it` }] },
      )
    },
  }
}
