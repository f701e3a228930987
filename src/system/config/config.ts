/** Reads the configuration of a home. */
import { parseDocument } from 'yaml'
import type { Config, ConfigInput } from '../../contracts/config.ts'
import { readConfigText, mergeLayers, parseTree } from './config-layers.ts'

/**
 * @throws `config_invalid` with the source, the key, the value and the allowed values.
 */
export function loadConfig(file: string, env: NodeJS.ProcessEnv, flags: ConfigInput = {}): Config {
  const text = readConfigText(file)
  return mergeLayers(text === null ? {} : parseTree(text, file, parseDocument), file, env, flags)
}
