/** Reads the configuration of a home. */
import { parseDocument } from 'yaml'
import type { Config, ConfigInput } from '../contracts/config.ts'
import { configText, layered, treeOf } from './config-layers.ts'

/**
 * @throws `config_invalid`, naming the source, the key, what was found and what is allowed.
 */
export function loadConfig(file: string, env: NodeJS.ProcessEnv, flags: ConfigInput = {}): Config {
  const text = configText(file)
  return layered(text === null ? {} : treeOf(text, file, parseDocument), file, env, flags)
}
