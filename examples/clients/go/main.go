// Deploys a workflow, runs it and follows it to its end, over REST with a client that oapi-codegen generates from the API
// description (clients/README.md).
//
//	SVC_URL=http://127.0.0.1:8080 go run . ../../workflows/data-job/workflow.yaml data-job
package main

import (
	"bufio"
	"context"
	"fmt"
	"log"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/uuid"

	svc "example.com/run-workflow/svcclient"
)

func main() {
	file, name := os.Args[1], os.Args[2]
	url := os.Getenv("SVC_URL")
	if url == "" {
		url = "http://127.0.0.1:8080"
	}
	client, err := svc.NewClientWithResponses(url, svc.WithRequestEditorFn(authorized))
	check(err)
	ctx := context.Background()

	manifest, err := os.ReadFile(file)
	check(err)
	force := svc.WorkflowsDeployParamsForceTrue
	deployed, err := client.WorkflowsDeployWithBodyWithResponse(ctx, &svc.WorkflowsDeployParams{Force: &force}, "application/yaml", strings.NewReader(string(manifest)))
	check(err)
	if deployed.JSON200 == nil {
		log.Fatal("deploy: ", string(deployed.Body))
	}

	key := name + "-from-go"
	run, err := client.WorkflowsRunWithResponse(ctx, name, &svc.WorkflowsRunParams{IdempotencyKey: &key}, svc.WorkflowsRunJSONRequestBody{})
	check(err)
	if run.JSON200 == nil {
		log.Fatal("run: ", string(run.Body))
	}
	id, err := uuid.Parse(run.JSON200.ExecutionId)
	check(err)
	check(follow(ctx, client, id))

	ended, err := client.WorkflowExecutionsGetWithResponse(ctx, id, nil)
	check(err)
	fmt.Println(ended.JSON200.Status, len(ended.JSON200.StateOutputs), "states")

	refused, err := client.WorkflowExecutionsCancelWithResponse(ctx, id, nil)
	check(err)
	if refused.JSON409 != nil {
		fmt.Println(refused.StatusCode(), refused.JSON409.Message)
	}
}

// Sends the token that a node with `spec.iam.local: token` leaves in its data directory, or SVC_TOKEN. Other nodes need none.
func authorized(_ context.Context, request *http.Request) error {
	data := os.Getenv("SVC_DATA")
	if data == "" {
		data = "data"
	}
	token := os.Getenv("SVC_TOKEN")
	if text, err := os.ReadFile(filepath.Join(data, "local-token")); err == nil && token == "" {
		token = strings.TrimSpace(string(text))
	}
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	return nil
}

// Prints number and name of each event until the run has ended.
func follow(ctx context.Context, client *svc.ClientWithResponses, id uuid.UUID) error {
	stream, err := client.WorkflowExecutionsStream(ctx, id, nil)
	if err != nil {
		return err
	}
	defer stream.Body.Close()
	number := ""
	lines := bufio.NewScanner(stream.Body)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		if value, found := strings.CutPrefix(lines.Text(), "id: "); found {
			number = value
		} else if value, found := strings.CutPrefix(lines.Text(), `data: {"`); found {
			event, _, _ := strings.Cut(value, `"`)
			fmt.Println(number, event)
		}
	}
	return lines.Err()
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
