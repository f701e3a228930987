/** Checks the configured model for memory search. Without a model, search compares words. */
import { modelIn } from '../../system/embedding/onnx-embedder.ts'
import type { Invocation } from '../cli.ts'
import { fine, refusedBy, warning, type Finding } from './finding.ts'

export function checkModel(invocation: Invocation): Finding[] {
  const { model_dir } = invocation.config().memory
  if (model_dir === undefined) return []
  try {
    modelIn(model_dir, [invocation.home.root])
    return [fine('model', model_dir)]
  } catch (error) {
    const { detail, hint } = refusedBy('model', error, invocation.cli.ids)
    return [warning('model', `${detail}; memory is searched by words`, hint ?? '')]
  }
}
