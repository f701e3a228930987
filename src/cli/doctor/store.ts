/** Checks the files of the store: faults that stop a hub from starting, and quarantined lines. */
import path from 'node:path'
import type { Invocation } from '../cli.ts'
import { fine, type Finding } from './finding.ts'

export async function checkStore(invocation: Invocation): Promise<Finding[]> {
  const { home, cli } = invocation
  const { store } = invocation.config().hub
  if (!store.startsWith('file:')) return []
  const named = store.slice('file:'.length).replace(/^\/\//, '')
  const directory = named === '' ? home.hub_dir : path.resolve(named)
  const faults = await cli.inspectStore(directory)
  if (faults.length === 0) return [fine('store', directory)]
  return faults.map(({ state, detail, hint }) => ({ check: 'store', state, detail, hint }))
}
