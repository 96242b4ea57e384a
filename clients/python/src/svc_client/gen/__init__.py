# Made by clients/generate.ts from the API description; do not edit.
